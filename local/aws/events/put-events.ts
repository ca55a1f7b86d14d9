import { randomUUID } from 'node:crypto';
import { AwsError } from '../kit/aws-error.ts';

/** An entry of a `PutEvents` request. `Time` is seconds since 1970. */
export interface EventEntry {
  readonly Source?: unknown;
  readonly DetailType?: unknown;
  readonly Detail?: unknown;
  readonly Resources?: readonly string[];
  readonly Time?: number;
  readonly EventBusName?: string;
}

/** An event as targets get it. */
export interface EventEnvelope {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly string[];
  readonly detail: object;
}

export interface EntryError {
  readonly ErrorCode: string;
  readonly ErrorMessage: string;
}

const MAX_ENTRIES = 10;
const MAX_REQUEST_BYTES = 1024 * 1024;
const MAX_DETAIL_TYPE = 128;
const MAX_SOURCE = 256;
const TIME_BYTES = 14;

export const validationError = (message: string): AwsError =>
  new AwsError('ValidationException', message);

/** Throws what refuses a `PutEvents` request as a whole: number and total size of its entries. */
export function checkEntries(entries: unknown): readonly EventEntry[] {
  if (!Array.isArray(entries) || entries.length === 0 || entries.length > MAX_ENTRIES) {
    throw validationError(
      `1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length between 1 and ${MAX_ENTRIES}`,
    );
  }
  const bytes = (entries as EventEntry[]).reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (bytes > MAX_REQUEST_BYTES) {
    throw validationError('Total size of the entries in the request is over the limit.');
  }
  return entries;
}

function sizeOf(entry: EventEntry): number {
  const texts = [entry.Source, entry.DetailType, entry.Detail, ...(entry.Resources ?? [])];
  const length = texts.reduce<number>(
    (sum, text) => sum + (typeof text === 'string' ? Buffer.byteLength(text) : 0),
    0,
  );
  return length + (entry.Time === undefined ? 0 : TIME_BYTES);
}

/** What is wrong with one entry; its neighbours are accepted all the same. */
export function entryErrorOf(entry: EventEntry): EntryError | undefined {
  for (const name of ['Source', 'DetailType', 'Detail'] as const) {
    if (typeof entry[name] !== 'string' || entry[name] === '') {
      return invalidArgument(name, `${name} is a required argument.`);
    }
  }
  if (String(entry.Source).startsWith('aws.')) {
    return {
      ErrorCode: 'NotAuthorizedForSourceException',
      ErrorMessage: 'Not authorized for the source.',
    };
  }
  if (String(entry.Source).length > MAX_SOURCE) {
    return invalidArgument('Source', `Source must be at most ${MAX_SOURCE} characters long.`);
  }
  if (String(entry.DetailType).length > MAX_DETAIL_TYPE) {
    const reason = `DetailType must be at most ${MAX_DETAIL_TYPE} characters long.`;
    return invalidArgument('DetailType', reason);
  }
  if (!detailOf(String(entry.Detail))) {
    return { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' };
  }
  return undefined;
}

const invalidArgument = (name: string, reason: string): EntryError => ({
  ErrorCode: 'InvalidArgument',
  ErrorMessage: `Parameter ${name} is not valid. Reason: ${reason}`,
});

/** Undefined for what is not a JSON object. */
function detailOf(text: string): object | undefined {
  try {
    const detail: unknown = JSON.parse(text);
    if (typeof detail === 'object' && detail !== null && !Array.isArray(detail)) return detail;
  } catch {
    // Not JSON at all; the caller says so.
  }
  return undefined;
}

/** The envelope of an accepted entry. `now` is milliseconds since 1970. */
export function envelopeOf(
  entry: EventEntry,
  origin: { readonly accountId: string; readonly region: string },
  now: number,
): EventEnvelope {
  const time = entry.Time === undefined ? now : entry.Time * 1000;
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': String(entry.DetailType),
    source: String(entry.Source),
    account: origin.accountId,
    time: new Date(time).toISOString().replace(/\.\d{3}Z$/, 'Z'),
    region: origin.region,
    resources: entry.Resources ?? [],
    detail: detailOf(String(entry.Detail)) ?? {},
  };
}
