import { Duration } from 'aws-cdk-lib';
import { Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { type PlatformContext, physicalName } from '../platform-context.ts';

const PERIOD = Duration.minutes(5);

/**
 * Metrics by the names of what they measure. Names instead of references, so that no other stack is tied to its
 * monitoring; a test holds each name against the templates.
 */
export function platformMetrics({ config }: PlatformContext) {
  const metric =
    (namespace: string, dimension: string) =>
    (name: string, metricName: string, statistic: string): Metric =>
      new Metric({
        namespace,
        metricName,
        dimensionsMap: { [dimension]: physicalName(config, name) },
        statistic,
        period: PERIOD,
        label: `${name} ${metricName}`,
      });
  const queue = metric('AWS/SQS', 'QueueName');
  const lambda = metric('AWS/Lambda', 'FunctionName');
  const api = metric('AWS/ApiGateway', 'ApiName');
  return {
    queueDepth: (name: string) => queue(name, 'ApproximateNumberOfMessagesVisible', Stats.MAXIMUM),
    queueAge: (name: string) => queue(name, 'ApproximateAgeOfOldestMessage', Stats.MAXIMUM),
    calls: (name: string) => lambda(name, 'Invocations', Stats.SUM),
    errors: (name: string) => lambda(name, 'Errors', Stats.SUM),
    throttles: (name: string) => lambda(name, 'Throttles', Stats.SUM),
    duration: (name: string) => lambda(name, 'Duration', Stats.p(99)),
    streamAge: (name: string) => lambda(name, 'IteratorAge', Stats.MAXIMUM),
    requests: (name: string) => api(name, 'Count', Stats.SUM),
    faults: (name: string) => api(name, '5XXError', Stats.SUM),
    latency: (name: string) => api(name, 'Latency', Stats.p(99)),
  };
}

export type PlatformMetrics = ReturnType<typeof platformMetrics>;
