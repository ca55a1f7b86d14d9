import { Duration } from 'aws-cdk-lib';
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Trigger } from '#shared/topology/index.ts';
import type { PlatformFunction } from './platform-function.ts';

/** The stream keeps 24 h: give up before it does, so that what was given up on can still be read and redriven. */
const GIVE_UP_AFTER = Duration.hours(20);
const RETRIES = 10;

/** A record that keeps failing is narrowed down, set aside in `failures`, and the shard moves on. */
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
    retryAttempts: RETRIES,
    maxRecordAge: GIVE_UP_AFTER,
    filters: [
      FilterCriteria.filter({
        eventName: FilterRule.isEqual('INSERT'),
        dynamodb: { NewImage: { kind: { S: FilterRule.isEqual(trigger.insertsOf) } } },
      }),
    ],
    onFailure: { bind: () => ({ destination: source.failures.queueArn }) },
  });
}
