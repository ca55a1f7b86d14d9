import type { _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';
import type { AttributeValue, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';

/** The event a function gets for records of a table's stream. */
export function toStreamEvent(
  records: readonly StreamRecord[],
  streamArn: string,
): DynamoDBStreamEvent {
  return { Records: records.map((record) => toRecord(record, streamArn)) };
}

export const sequenceOf = (record: StreamRecord): string => record.dynamodb?.SequenceNumber ?? '';

function toRecord(record: StreamRecord, streamArn: string): DynamoDBRecord {
  const { dynamodb: change = {}, userIdentity } = record;
  const { ApproximateCreationDateTime: createdAt, Keys, NewImage, OldImage, ...rest } = change;
  return {
    ...(record.eventID === undefined ? {} : { eventID: record.eventID }),
    ...(record.eventName === undefined ? {} : { eventName: record.eventName }),
    eventVersion: record.eventVersion ?? '1.1',
    eventSource: record.eventSource ?? 'aws:dynamodb',
    ...(record.awsRegion === undefined ? {} : { awsRegion: record.awsRegion }),
    dynamodb: {
      // Seconds, without a fraction.
      ...(createdAt ? { ApproximateCreationDateTime: Math.floor(+createdAt / 1000) } : {}),
      ...(Keys ? { Keys: toWire(Keys) as Image } : {}),
      ...(NewImage ? { NewImage: toWire(NewImage) as Image } : {}),
      ...(OldImage ? { OldImage: toWire(OldImage) as Image } : {}),
      ...rest,
    },
    ...(userIdentity
      ? { userIdentity: { type: userIdentity.Type, principalId: userIdentity.PrincipalId } }
      : {}),
    eventSourceARN: streamArn,
  };
}

type Image = Record<string, AttributeValue>;

/** Attribute values as they travel: bytes, which the SDK has decoded, are base64 text. */
function toWire(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(toWire);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, toWire(inner)]));
}
