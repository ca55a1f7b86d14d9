import type { Divergence } from './divergences.ts';

/** A test moto fails; how AWS behaves is from its documentation, unless said otherwise. */
function motoDiffers(title: string, why: string, symptom: RegExp): Divergence {
  return { title, awsIsOn: 'embedded', why, symptom };
}

/** moto takes what AWS rejects. */
function motoAccepts(title: string, what: string): Divergence {
  return motoDiffers(title, `accepts ${what}`, /the call succeeded/);
}

/**
 * Where the embedded emulator and moto 5.2.1 differ. For what is listed here moto cannot vouch for us: it
 * rests on the AWS documentation and, for messages and limits, on dynalite's tests against AWS.
 */
export const DYNAMO_DIVERGENCES: readonly Divergence[] = [
  motoAccepts('refuses an index whose name is too short', 'names of two letters'),
  motoDiffers(
    'turns a stream off and on again as another stream',
    'enables a stream once only',
    /Cannot enable stream/,
  ),
  motoDiffers(
    'finds true: begins_with(#bytes, :12) AND NOT begins_with(#bytes, :23)',
    'compares the base64 of binaries',
    /ConditionalCheckFailedException/,
  ),
  motoDiffers(
    'finds true: NOT #text = :five AND NOT #text < :five AND #text <> :five',
    'answers 500 when types differ',
    /<!doctype/,
  ),
  motoDiffers(
    'rejects a condition with a value that is not used',
    'evaluates the condition',
    /'ConditionalCheckFailedException' to be 'ValidationException'|the call succeeded/,
  ),
  ...['a value that is not given', 'a name that is not given', 'a syntax error'].map((what) =>
    motoDiffers(`rejects a condition with ${what}`, 'answers 500', /<!doctype/),
  ),
  motoDiffers(
    'adds to numbers and sets, appends to lists, and answers UPDATED_NEW and ALL_NEW',
    'answers the keys in UPDATED_NEW of an item it creates',
    /pk: 'u', sk: 'all'/,
  ),
  motoAccepts('rejects an item with a wrong type for an index key', 'any type for index keys'),
  motoAccepts('rejects 39 digits, and a number that is none', '39 digits'),
  motoAccepts('rejects nesting below 32 levels', 'any depth'),
  motoDiffers(
    'takes an item of 400 KB and not one byte more',
    'has its limit at 405,000 bytes of its own JSON',
    /Item size has exceeded/,
  ),
  motoAccepts('rejects a batch of 26', 'any number'),
  motoDiffers(
    'counts write units: one per kilobyte and per index entry',
    'counts one unit per call',
    /expected 1 to be 3/,
  ),
  motoDiffers(
    'cancels with ValidationError when an operand does not fit the item',
    'answers a plain ValidationException',
    /'ValidationException' to be 'TransactionCanceledException'/,
  ),
  motoDiffers(
    'B98 applies a transaction once however often its token is sent',
    'ignores tokens',
    /to match object \{ n: 1 \}/,
  ),
  motoAccepts('rejects a token that stands for another transaction', 'any token'),
  motoAccepts('rejects more than 4 MB', 'any size'),
  motoDiffers('counts twice the write units', 'answers no capacity', /expected \[\]/),
  motoAccepts('rejects an empty get', 'nothing'),
  motoAccepts('rejects a get that names an item twice', 'it'),
  motoAccepts('rejects a query with a filter on a key', 'it'),
  motoDiffers(
    'rejects a query with an index that is not there',
    'answers ResourceNotFoundException',
    /'ResourceNotFoundException' to be 'ValidationException'/,
  ),
  motoDiffers(
    'records nothing for a write that fails or changes nothing',
    'records a put that changes nothing',
    /to deeply equal \[\]/,
  ),
  motoDiffers(
    'records one INSERT for an update that creates its item',
    'records two',
    /\[ 'INSERT', 'created' \]/,
  ),
  motoDiffers(
    'records every change of a transaction and none of a condition check',
    'records two INSERTs for an update that creates its item',
    /length of 3 but got 4/,
  ),
  motoAccepts(
    'does not know a stream that does not exist',
    'any label of a table that has a stream',
  ),
  motoAccepts('rejects enabling Time to Live twice', 'it'),
  motoDiffers(
    'deletes expired items in the name of the service, and no others',
    'never deletes expired items',
    /expired item/,
  ),
];
