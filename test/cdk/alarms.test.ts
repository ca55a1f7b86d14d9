import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STAGES } from '#cdk/stage-config.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { type Environment, synthesize } from './environment.ts';
import type { JsonObject } from './resolve-template.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

const [config] = STAGES;

interface Metric {
  readonly name: string;
  readonly dimension: string;
  readonly value: string;
}

describe('OPS-2 alarms', () => {
  let root: string;
  let environment: Environment;
  let watched: Metric[];

  beforeAll(async () => {
    root = await createSourceSkeleton();
    environment = synthesize({ ...config!, alarmEmail: 'oncall@example.com' }, root);
    watched = environment
      .all('AWS::CloudWatch::Alarm')
      .map(({ properties }) => metricOf(properties));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  // A metric with a name that does not exist is no error for CloudWatch: its alarm stays green for ever.
  it('watch things that exist', () => {
    const names: Readonly<Record<string, (string | undefined)[]>> = {
      QueueName: property('AWS::SQS::Queue', 'QueueName'),
      FunctionName: property('AWS::Lambda::Function', 'FunctionName'),
      ApiName: property('AWS::ApiGateway::RestApi', 'Name'),
    };
    const missing = [...watched, ...shownMetrics()].filter(
      ({ dimension, value }) => !names[dimension]?.includes(value),
    );
    expect(missing).toEqual([]);
    expect(watched.length).toBeGreaterThan(10);
    expect(shownMetrics().length).toBeGreaterThan(FUNCTIONS.length);
  });

  it('cover every queue of failures, the launch queue, the stream, each worker and both APIs', () => {
    const values = (name: string) =>
      watched.filter((metric) => metric.name === name).map(({ value }) => value);
    const queues = property('AWS::SQS::Queue', 'QueueName').toSorted();
    const worked = ['nexusdesk-dev-runs', 'nexusdesk-dev-runs-dead-letter'];
    // A message that is worked on may be gone before it is counted; its age tells when it is not.
    expect(values('ApproximateAgeOfOldestMessage').toSorted()).toEqual(worked);
    expect(values('Invocations')).toEqual(['nexusdesk-dev-workers-fail-dead-run']);
    expect(values('ApproximateNumberOfMessagesVisible').toSorted()).toEqual(
      queues.filter((name) => !worked.includes(name)),
    );
    expect(values('IteratorAge')).toEqual([
      'nexusdesk-dev-workers-relay-outbox',
      'nexusdesk-dev-workers-fold-usage',
    ]);
    expect(values('5XXError').toSorted()).toEqual(
      property('AWS::ApiGateway::RestApi', 'Name').toSorted(),
    );
    const unattended = FUNCTIONS.filter(({ trigger }) => trigger.kind !== 'http');
    expect(values('Errors').toSorted()).toEqual(
      unattended.map(({ name }) => `nexusdesk-dev-${name.replaceAll('/', '-')}`).toSorted(),
    );
  });

  it('reach people', () => {
    const topic = environment.only('AWS::SNS::Topic').name;
    for (const { properties } of environment.all('AWS::CloudWatch::Alarm')) {
      expect(properties.AlarmActions).toEqual([topic]);
    }
    expect(environment.only('AWS::SNS::Subscription').properties).toMatchObject({
      TopicArn: topic,
      Protocol: 'email',
      Endpoint: 'oncall@example.com',
    });
  });

  function property(type: string, name: string): string[] {
    return environment.all(type).map(({ properties }) => String(properties[name]));
  }

  function shownMetrics(): Metric[] {
    const body = String(environment.only('AWS::CloudWatch::Dashboard').properties.DashboardBody);
    const { widgets } = JSON.parse(body) as { widgets: readonly { properties: JsonObject }[] };
    return widgets
      .flatMap(({ properties }) => (properties.metrics ?? []) as readonly (readonly string[])[])
      .map(([, name = '', dimension = '', value = '']) => ({ name, dimension, value }));
  }
});

/** An alarm names its metric directly, or inside of a list of one. */
function metricOf(properties: JsonObject): Metric {
  const [query] = (properties.Metrics ?? []) as readonly { MetricStat: { Metric: JsonObject } }[];
  const { MetricName, Dimensions } = query?.MetricStat.Metric ?? properties;
  const [dimension, ...others] = Dimensions as readonly { Name: string; Value: string }[];
  if (!dimension || others.length > 0) throw new Error('a metric has not one dimension');
  return { name: String(MetricName), dimension: dimension.Name, value: dimension.Value };
}
