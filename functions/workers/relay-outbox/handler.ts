import middy from '@middy/core';
import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { type OutboxPage, relayOutbox } from '#shared/orchestrator/index.ts';

/** What a stream record's new image says about a log page; undefined for every other kind of item. */
export type ReadPage = (image: unknown) => Omit<OutboxPage, 'record'> | undefined;

/** The table's stream → the bus. A log page is immutable, so only its insertion is news. */
export function relayOutboxHandler(
  deps: Parameters<typeof relayOutbox>[0] & { readPage: ReadPage },
) {
  return middy<DynamoDBStreamEvent, DynamoDBBatchResponse>().handler(async (event) => {
    const pages = event.Records.flatMap((record): OutboxPage[] => {
      const sequenceNumber = record.dynamodb?.SequenceNumber;
      if (record.eventName !== 'INSERT' || !sequenceNumber) return [];
      const page = deps.readPage(record.dynamodb?.NewImage);
      return page ? [{ record: sequenceNumber, ...page }] : [];
    });
    const failedFrom = await relayOutbox(deps, pages);
    return { batchItemFailures: failedFrom ? [{ itemIdentifier: failedFrom }] : [] };
  });
}
