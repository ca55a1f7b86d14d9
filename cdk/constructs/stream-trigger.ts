import { Duration } from 'aws-cdk-lib';
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { STREAM_MAX_AGE_MS, STREAM_MAX_RETRIES, type Trigger } from '#shared/topology/index.ts';
import type { PlatformFunction } from './platform-function.ts';

/** What keeps failing is narrowed down, its place is set aside in `failures`, and the shard moves on. */
export function consumeTableStream(
  consumer: PlatformFunction,
  trigger: Extract<Trigger, { kind: 'tableStream' }>,
  source: { readonly streamArn: string; readonly failures: Queue },
): void {
  consumer.allow({
    actions: [
      'dynamodb:DescribeStream',
      'dynamodb:GetRecords',
      'dynamodb:GetShardIterator',
      'dynamodb:ListStreams',
    ],
    resources: [source.streamArn],
  });
  consumer.allow({ actions: ['sqs:SendMessage'], resources: [source.failures.queueArn] });
  consumer.lambda.addEventSourceMapping('Stream', {
    eventSourceArn: source.streamArn,
    // Nothing written before the mapping existed may be missed.
    startingPosition: StartingPosition.TRIM_HORIZON,
    batchSize: trigger.batchSize,
    reportBatchItemFailures: true,
    bisectBatchOnError: true,
    retryAttempts: STREAM_MAX_RETRIES,
    maxRecordAge: Duration.millis(STREAM_MAX_AGE_MS),
    filters: [
      FilterCriteria.filter({
        eventName: FilterRule.isEqual('INSERT'),
        dynamodb: {
          NewImage: Object.fromEntries(
            Object.entries(trigger.inserts).map(([attribute, texts]) => [
              attribute,
              { S: FilterRule.or(...texts) },
            ]),
          ),
        },
      }),
    ],
    onFailure: { bind: () => ({ destination: source.failures.queueArn }) },
  });
}
