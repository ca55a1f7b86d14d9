import { Stack } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  type Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import { FUNCTIONS, type FunctionEntry } from '#shared/topology/index.ts';
import { type PlatformMetrics, platformMetrics } from '../constructs/platform-metrics.ts';
import { type PlatformStackProps, physicalName } from '../platform-context.ts';

const API_NAMES = ['api', 'host-gateway'];
/** A message that waits this long without being tried: the workers do not keep up, or are stopped. */
const QUEUE_AGE_SECONDS = 600;
/** Events reach the bus, or usage its totals, this late. The stream loses what is older than 24 h. */
const STREAM_AGE_MS = 10 * 60_000;
/** Within five minutes; single faults are retried by clients and hosts. */
const API_FAULTS = 5;

interface AlarmSpec {
  readonly name: string;
  readonly metric: Metric;
  readonly threshold: number;
  readonly meaning: string;
}

/** Tells people when something failed for good or falls behind, and shows how the environment does. */
export class AlarmStack extends Stack {
  constructor(scope: Construct, id: string, props: PlatformStackProps) {
    super(scope, id, props);
    const { config } = props.context;
    const topic = new Topic(this, 'Topic', {
      topicName: physicalName(config, 'alarms'),
      enforceSSL: true,
    });
    if (config.alarmEmail) topic.addSubscription(new EmailSubscription(config.alarmEmail));

    const metrics = platformMetrics(props.context);
    const alarms = alarmSpecs(metrics).map((spec) => {
      const alarm = new Alarm(this, spec.name, {
        alarmName: physicalName(config, spec.name),
        alarmDescription: spec.meaning,
        metric: spec.metric,
        threshold: spec.threshold,
        evaluationPeriods: 1,
        comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        treatMissingData: TreatMissingData.NOT_BREACHING,
      });
      alarm.addAlarmAction(new SnsAction(topic));
      return alarm;
    });
    new Dashboard(this, 'Dashboard', {
      dashboardName: physicalName(config, 'overview'),
      widgets: [[new AlarmStatusWidget({ title: 'Alarms', alarms, width: 24 })], overview(metrics)],
    });
  }
}

function alarmSpecs(metrics: PlatformMetrics): AlarmSpec[] {
  return [
    ...FUNCTIONS.filter(takesDeadLetters).map(({ name }) => ({
      name: `${name}-called`.replaceAll('/', '-'),
      metric: metrics.calls(name),
      threshold: 1,
      meaning: 'A launch failed again and again; its run was marked failed.',
    })),
    {
      name: 'runs-dead-letter-age',
      metric: metrics.queueAge('runs-dead-letter'),
      threshold: QUEUE_AGE_SECONDS,
      meaning: 'Runs whose launch failed for good cannot be marked failed either.',
    },
    {
      name: 'runs-age',
      metric: metrics.queueAge('runs'),
      threshold: QUEUE_AGE_SECONDS,
      meaning: 'Accepted runs wait without being tried.',
    },
    ...FUNCTIONS.filter(keepsFailures).map(({ name }) => ({
      name: `${name}-failed-depth`.replaceAll('/', '-'),
      metric: metrics.queueDepth(`${name}-failed`),
      threshold: 1,
      meaning: `What ${name} gave up on waits for a person.`,
    })),
    ...FUNCTIONS.filter(({ trigger }) => trigger.kind === 'tableStream').map(({ name }) => ({
      name: `${name}-age`.replaceAll('/', '-'),
      metric: metrics.streamAge(name),
      threshold: STREAM_AGE_MS,
      meaning: `${name} is behind the table's stream, which loses what is older than 24 h.`,
    })),
    ...FUNCTIONS.filter(({ trigger }) => trigger.kind !== 'http').map(({ name }) => ({
      name: `${name}-errors`.replaceAll('/', '-'),
      metric: metrics.errors(name),
      threshold: 1,
      meaning: `${name} threw or ran out of time; expected failures are not errors.`,
    })),
    ...API_NAMES.map((name) => ({
      name: `${name}-faults`,
      metric: metrics.faults(name),
      threshold: API_FAULTS,
      meaning: `The ${name} answers with 5xx.`,
    })),
  ];
}

function takesDeadLetters({ trigger }: FunctionEntry): boolean {
  return trigger.kind === 'queue' && trigger.queue === 'runsDeadLetter';
}

function keepsFailures({ trigger }: FunctionEntry): boolean {
  return trigger.kind === 'tableStream' || trigger.kind === 'taskStopped';
}

function overview(metrics: PlatformMetrics): GraphWidget[] {
  const names = FUNCTIONS.map(({ name }) => name);
  const workers = FUNCTIONS.filter(({ trigger }) => trigger.kind !== 'http').map(
    ({ name }) => name,
  );
  const graph = (title: string, left: Metric[], right: Metric[] = []) =>
    new GraphWidget({ title, left, right, width: 12 });
  return [
    graph('Launch queue', [metrics.queueDepth('runs')], [metrics.queueAge('runs')]),
    graph('Requests', API_NAMES.map(metrics.requests), API_NAMES.map(metrics.faults)),
    graph('API latency, p99', API_NAMES.map(metrics.latency)),
    graph('Worker duration, p99', workers.map(metrics.duration)),
    graph('Errors', names.map(metrics.errors)),
    graph('Throttles', names.map(metrics.throttles)),
  ];
}
