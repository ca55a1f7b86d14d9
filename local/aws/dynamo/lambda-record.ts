import type { DynamoDBRecord } from 'aws-lambda';
import type { UserIdentity } from './model.ts';

/** A stream record, as GetRecords has it on the wire, in the form Lambda gives it to a function. Always a copy. */
export function lambdaRecord(wire: object, streamArn: string): DynamoDBRecord {
  const { userIdentity, ...record } = copied(wire) as { userIdentity?: UserIdentity };
  return {
    ...(record as DynamoDBRecord),
    ...(userIdentity && {
      userIdentity: { type: userIdentity.Type, principalId: userIdentity.PrincipalId },
    }),
    eventSourceARN: streamArn,
  };
}

function copied(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(copied);
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) copy[name] = copied((value as typeof copy)[name]);
  return copy;
}
