import * as Dynamo from '@aws-sdk/client-dynamodb';
import * as DynamoStreams from '@aws-sdk/client-dynamodb-streams';
import { AwsError } from '../kit/aws-error.ts';
import type { Input } from './context.ts';
import type { AttributeValue, Item } from './model.ts';

/**
 * An SDK input as it would travel: bytes as base64 text, nothing undefined. What needs no change is passed as it
 * is, which is safe since dynalite's type checks copy all that they let pass.
 */
export function toWire(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  }
  if (Array.isArray(value)) {
    const wire = value.map(toWire);
    return wire.some((member, at) => member !== value[at]) ? wire : value;
  }
  let changed: Record<string, unknown> | undefined;
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name];
    const wire = toWire(member);
    if (wire === member && wire !== undefined) continue;
    changed ??= { ...value };
    if (wire === undefined) delete changed[name];
    else changed[name] = wire;
  }
  return changed ?? value;
}

/** What the SDK gives for an attribute value: bytes where the wire has base64. Always a copy. */
function fromWireValue(value: AttributeValue): Dynamo.AttributeValue {
  if (value.S !== undefined) return { S: value.S };
  if (value.N !== undefined) return { N: value.N };
  if (value.M !== undefined) return { M: fromWireItem(value.M) };
  if (value.L !== undefined) return { L: value.L.map(fromWireValue) };
  if (value.B !== undefined) return { B: bytes(value.B) };
  if (value.BS !== undefined) return { BS: value.BS.map(bytes) };
  if (value.SS !== undefined) return { SS: [...value.SS] };
  if (value.NS !== undefined) return { NS: [...value.NS] };
  return { ...value } as Dynamo.AttributeValue;
}

function fromWireItem(item: Item): Record<string, Dynamo.AttributeValue> {
  const copy: Record<string, Dynamo.AttributeValue> = {};
  for (const name of Object.keys(item)) copy[name] = fromWireValue(item[name] as AttributeValue);
  return copy;
}

function bytes(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

type Answer = Record<string, unknown>;
type Convert = (value: never) => unknown;

const itemMap = (map: Record<string, Item[]>): object =>
  mapValues(map, (items) => items.map(fromWireItem));
const date = (seconds: number): Date => new Date(seconds * 1000);
const keyMap = (map: Record<string, { Keys: Item[] }>): object =>
  mapValues(map, (keys) => ({ ...keys, Keys: keys.Keys.map(fromWireItem) }));

/** Where answers hold what the SDK gives in another form; all else is passed as it is. */
const CONVERSIONS: Readonly<Record<string, Readonly<Record<string, Convert>>>> = {
  GetItem: { Item: fromWireItem },
  PutItem: { Attributes: fromWireItem },
  UpdateItem: { Attributes: fromWireItem },
  DeleteItem: { Attributes: fromWireItem },
  Query: { Items: (items: Item[]) => items.map(fromWireItem), LastEvaluatedKey: fromWireItem },
  Scan: { Items: (items: Item[]) => items.map(fromWireItem), LastEvaluatedKey: fromWireItem },
  BatchGetItem: { Responses: itemMap, UnprocessedKeys: keyMap },
  TransactGetItems: {
    Responses: (all: { Item?: Item }[]) => all.map((one) => converted(one, { Item: fromWireItem })),
  },
  CreateTable: { TableDescription: table },
  UpdateTable: { TableDescription: table },
  DeleteTable: { TableDescription: table },
  DescribeTable: { Table: table },
  GetRecords: { Records: (records: Answer[]) => records.map(record) },
};

function table(description: Answer): Answer {
  return converted(description, {
    CreationDateTime: date,
    BillingModeSummary: (summary: Answer) =>
      converted(summary, { LastUpdateToPayPerRequestDateTime: date }),
  });
}

function record(wire: Answer): Answer {
  return converted(wire, {
    dynamodb: (change: Answer) =>
      converted(change, {
        ApproximateCreationDateTime: date,
        Keys: fromWireItem,
        NewImage: fromWireItem,
        OldImage: fromWireItem,
      }),
  });
}

function converted(answer: Answer, conversions: Readonly<Record<string, Convert>>): Answer {
  const copy = { ...answer };
  for (const name of Object.keys(conversions)) {
    const value = copy[name];
    if (value !== undefined && value !== null) copy[name] = conversions[name]?.(value as never);
  }
  return copy;
}

function mapValues<T, R>(map: Record<string, T>, convert: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, convert(value)]));
}

/** The output of an SDK command for what an operation answered. */
export function toOutput(operation: string, answer: unknown): object {
  const output = converted(answer as Answer, CONVERSIONS[operation] ?? {});
  output.$metadata = metadata(200);
  return output;
}

/** What the SDK throws for an error of an operation. Anything but an {@link AwsError} is a fault of ours. */
export function toException(operation: string, error: unknown): unknown {
  if (!(error instanceof AwsError)) return error;
  const { type: name, message, extra } = error;
  const $metadata = metadata(error.statusCode);
  const modelled = exceptionOf(STREAM_OPERATIONS.has(operation) ? DynamoStreams : Dynamo, name);
  if (modelled) {
    const { Item: item, CancellationReasons: reasons } = extra as {
      Item?: Item;
      CancellationReasons?: (Input & { Item?: Item })[];
    };
    return new modelled({
      message,
      $metadata,
      ...(item && { Item: fromWireItem(item) }),
      ...(reasons && {
        CancellationReasons: reasons.map((reason) => converted(reason, { Item: fromWireItem })),
      }),
    });
  }
  const Base = STREAM_OPERATIONS.has(operation)
    ? DynamoStreams.DynamoDBStreamsServiceException
    : Dynamo.DynamoDBServiceException;
  return new Base({ name, message, $metadata, $fault: 'client' });
}

const STREAM_OPERATIONS = new Set([
  'DescribeStream',
  'GetRecords',
  'GetShardIterator',
  'ListStreams',
]);

type Exception = new (options: object) => Error;

function exceptionOf(module: object, name: string): Exception | undefined {
  const known = (module as Record<string, unknown>)[name];
  return typeof known === 'function' ? (known as Exception) : undefined;
}

function metadata(httpStatusCode: number): Dynamo.GetItemCommandOutput['$metadata'] {
  return { httpStatusCode, attempts: 1, totalRetryDelay: 0 };
}
