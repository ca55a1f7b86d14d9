import type { Trigger } from '#shared/topology/index.ts';
import type { PlatformFunction } from './platform-function.ts';

/** Messages that failed come back alone: the function names them in its answer. */
export function consumeQueue(
  consumer: PlatformFunction,
  trigger: Extract<Trigger, { kind: 'queue' }>,
  queueArn: string,
): void {
  consumer.allow({
    actions: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
    resources: [queueArn],
  });
  consumer.lambda.addEventSourceMapping('Queue', {
    eventSourceArn: queueArn,
    batchSize: trigger.batchSize,
    maxConcurrency: trigger.maxConcurrency,
    reportBatchItemFailures: true,
  });
}
