import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { EventInvokeConfig } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Trigger } from '#shared/topology/index.ts';
import type { PlatformFunction } from './platform-function.ts';

const SHORTEST_EVENT_AGE = Duration.minutes(1);
const LONGEST_EVENT_AGE = Duration.hours(6);
const DELIVERY_ATTEMPTS = 185;
const DELIVERY_AGE = Duration.hours(24);

/** A tick that failed is not repeated: the next one does its work. */
export function runOnSchedule(
  target: PlatformFunction,
  trigger: Extract<Trigger, { kind: 'schedule' }>,
): void {
  new EventInvokeConfig(target, 'Invoke', {
    function: target.lambda,
    maxEventAge: SHORTEST_EVENT_AGE,
    retryAttempts: 0,
  });
  new Rule(target, 'Schedule', {
    schedule: Schedule.rate(Duration.millis(trigger.everyMs)),
    targets: [
      new LambdaFunction(target.lambda, { maxEventAge: SHORTEST_EVENT_AGE, retryAttempts: 0 }),
    ],
  });
}

/**
 * Every stopped task of the cluster, at least once and in any order. An event that could not be delivered, or that
 * the function failed on for good, is kept in `failures`.
 */
export function settleStoppedTasks(
  target: PlatformFunction,
  source: { readonly clusterArn: string; readonly failures: Queue },
): void {
  target.allow({ actions: ['sqs:SendMessage'], resources: [source.failures.queueArn] });
  new EventInvokeConfig(target, 'Invoke', {
    function: target.lambda,
    maxEventAge: LONGEST_EVENT_AGE,
    retryAttempts: 2,
    onFailure: { bind: () => ({ destination: source.failures.queueArn }) },
  });
  new Rule(target, 'TaskStopped', {
    eventPattern: {
      source: ['aws.ecs'],
      detailType: ['ECS Task State Change'],
      detail: { clusterArn: [source.clusterArn], lastStatus: ['STOPPED'] },
    },
    targets: [
      new LambdaFunction(target.lambda, {
        deadLetterQueue: source.failures,
        maxEventAge: DELIVERY_AGE,
        retryAttempts: DELIVERY_ATTEMPTS,
      }),
    ],
  });
}
