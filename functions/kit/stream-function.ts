import middy from '@middy/core';
import type { DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { type BatchAnswer, batchAnswer } from './batch-answer.ts';

/** Where a record is in the stream, and when it was written there (milliseconds since the epoch, to the second). */
export interface RecordPlace {
  readonly record: string;
  readonly storedAtMs: number;
}

/**
 * One Lambda behind the table's stream. Pages of a log are immutable, so only insertions are news. `read` answers
 * undefined for what its consumer does not know: the stream carries every kind of item, and will carry new ones.
 * `run` answers the record from which the stream must be delivered again, or undefined when all is done.
 */
export function streamFunction<Entry>(options: {
  read: (image: unknown, place: RecordPlace) => Entry | undefined;
  run: (entries: readonly Entry[]) => Promise<string | undefined>;
}) {
  return middy<DynamoDBStreamEvent, BatchAnswer>().handler(async ({ Records }) => {
    const entries = Records.flatMap((record) => {
      const place = placeOf(record);
      if (record.eventName !== 'INSERT' || !place) return [];
      const entry = options.read(record.dynamodb?.NewImage, place);
      return entry === undefined ? [] : [entry];
    });
    const failedFrom = await options.run(entries);
    return batchAnswer(
      Records.map((record) => record.dynamodb?.SequenceNumber ?? ''),
      failedFrom === undefined ? [] : [failedFrom],
    );
  });
}

function placeOf({ dynamodb }: DynamoDBRecord): RecordPlace | undefined {
  const { SequenceNumber, ApproximateCreationDateTime = 0 } = dynamodb ?? {};
  return SequenceNumber
    ? { record: SequenceNumber, storedAtMs: ApproximateCreationDateTime * 1000 }
    : undefined;
}
