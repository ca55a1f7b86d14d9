import type { _Record as StreamRecord } from '@aws-sdk/client-dynamodb-streams';

/** Lets insertions through whose attributes have one of these texts, each: what the catalogue says of a consumer. */
export function insertionsOf(
  attributes: Readonly<Record<string, readonly string[]>>,
): (record: StreamRecord) => boolean {
  return ({ eventName, dynamodb }) =>
    eventName === 'INSERT' &&
    Object.entries(attributes).every(([name, texts]) =>
      texts.includes(dynamodb?.NewImage?.[name]?.S ?? ''),
    );
}
