import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STAGES } from '#cdk/stage-config.ts';
import { timingSchema } from '#shared/orchestrator/index.ts';
import { environmentOf, FUNCTIONS, type FunctionEntry } from '#shared/topology/index.ts';
import { type Environment, type Resource, synthesize } from './environment.ts';
import { functionOf } from './policies.ts';
import type { JsonObject } from './resolve-template.ts';
import { createSourceSkeleton, SKELETON_ENGINE } from './source-skeleton.ts';

const [dev] = STAGES;

describe('functions of the catalogue', () => {
  let root: string;
  let environment: Environment;

  beforeAll(async () => {
    root = await createSourceSkeleton();
    environment = synthesize(dev!, root);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const variables = (resource: Resource) =>
    ((resource.properties.Environment as JsonObject | undefined)?.Variables ?? {}) as JsonObject;
  const triggeredBy = (name: string) =>
    environment
      .all('AWS::Lambda::EventSourceMapping')
      .filter(({ properties }) => properties.FunctionName === functionOf(environment, name).name);
  const ofKind = <K extends FunctionEntry['trigger']['kind']>(kind: K) =>
    FUNCTIONS.flatMap((entry) =>
      entry.trigger.kind === kind
        ? [{ ...entry, trigger: entry.trigger as Extract<FunctionEntry['trigger'], { kind: K }> }]
        : [],
    );

  it('OPS-1 are deployed once each, and no function beside them', () => {
    const deployed = environment.all('AWS::Lambda::Function').map((f) => f.properties.FunctionName);
    const wanted = FUNCTIONS.map(({ name }) => `nexusdesk-dev-${name.replaceAll('/', '-')}`);
    expect(deployed.toSorted()).toEqual(wanted.toSorted());
  });

  it.each(FUNCTIONS)(
    '$name has the size, the runtime and exactly the variables of the catalogue',
    (entry) => {
      const found = functionOf(environment, entry.name);
      expect(found.properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        MemorySize: entry.memoryMb,
        Timeout: entry.timeoutMs / 1000,
        TracingConfig: { Mode: 'Active' },
      });
      expect(Object.keys(variables(found)).toSorted()).toEqual(environmentOf(entry).toSorted());
      expect(found.properties.ReservedConcurrentExecutions).toBeUndefined();
      expect(found.properties.VpcConfig).toBeUndefined();
    },
  );

  it.each(FUNCTIONS)('$name writes to a log group of its own, which forgets', (entry) => {
    const { LogGroup } = functionOf(environment, entry.name).properties.LoggingConfig as JsonObject;
    const group = environment.all('AWS::Logs::LogGroup').find(({ name }) => name === LogGroup);
    expect(group?.properties).toMatchObject({
      LogGroupName: `/nexusdesk/dev/${entry.name}`,
      RetentionInDays: dev!.logRetention,
    });
  });

  it('know the resources that their variables name', () => {
    const dispatch = variables(functionOf(environment, 'workers/dispatch-run'));
    const [subnet] = environment.all('AWS::EC2::Subnet');
    expect(dispatch).toEqual({
      TABLE_NAME: environment.only('AWS::DynamoDB::GlobalTable').name,
      RUNS_QUEUE_URL: queueNamed('nexusdesk-dev-runs').name,
      CLUSTER_ARN: `${environment.only('AWS::ECS::Cluster').name}.Arn`,
      // By reference, so with the revision.
      TASK_DEFINITION_ARN: environment.only('AWS::ECS::TaskDefinition').name,
      TASK_CONTAINER_NAME: 'runtime-host',
      TASK_SUBNETS: subnet?.name,
      TASK_SECURITY_GROUPS: expect.stringMatching(/^network\/EngineTaskGroup\w+\.GroupId$/),
      GATEWAY_URL: `https://${privateApi().name}.execute-api.eu-west-1.amazonaws.com/live`,
      SIGNING_SECRET_ID: environment.only('AWS::SecretsManager::Secret').name,
      DEPLOYED_ENGINES: JSON.stringify([SKELETON_ENGINE]),
      RUN_LIMITS: '{}',
    });
    expect(variables(functionOf(environment, 'gateway/claim-run'))).toMatchObject({
      TENANT_SECRETS_PREFIX: 'nexusdesk/dev/tenants/',
    });
    const pool = environment.only('AWS::Cognito::UserPool').name;
    const issuer = `https://cognito-idp.eu-west-1.amazonaws.com/${pool}`;
    expect(variables(functionOf(environment, 'api/authorize-request'))).toEqual({
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: environment.only('AWS::Cognito::UserPoolClient').name,
      JWKS_URL: `${issuer}/.well-known/jwks.json`,
    });
  });

  it.each(ofKind('queue'))(
    'ORC-2 $name consumes its queue and names the messages that failed',
    ({ name, trigger }) => {
      const queue =
        trigger.queue === 'runs' ? 'nexusdesk-dev-runs' : 'nexusdesk-dev-runs-dead-letter';
      expect(triggeredBy(name).map(({ properties }) => properties)).toEqual([
        expect.objectContaining({
          EventSourceArn: `${queueNamed(queue).name}.Arn`,
          BatchSize: trigger.batchSize,
          ScalingConfig: { MaximumConcurrency: trigger.maxConcurrency },
          FunctionResponseTypes: ['ReportBatchItemFailures'],
        }),
      ]);
    },
  );

  it.each(ofKind('tableStream'))(
    'TRM-6 $name reads the stream from its start, narrows down what fails and sets it aside in time',
    ({ name, trigger }) => {
      const [mapping, ...others] = triggeredBy(name);
      expect(others).toEqual([]);
      expect(mapping?.properties).toMatchObject({
        EventSourceArn: `${environment.only('AWS::DynamoDB::GlobalTable').name}.StreamArn`,
        StartingPosition: 'TRIM_HORIZON',
        BatchSize: trigger.batchSize,
        BisectBatchOnFunctionError: true,
        FilterCriteria: {
          Filters: [
            {
              Pattern: JSON.stringify({
                eventName: ['INSERT'],
                dynamodb: {
                  NewImage: Object.fromEntries(
                    Object.entries(trigger.inserts).map(([name, texts]) => [name, { S: texts }]),
                  ),
                },
              }),
            },
          ],
        },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        DestinationConfig: {
          OnFailure: {
            Destination: `${queueNamed(`nexusdesk-dev-${name.replaceAll('/', '-')}-failed`).name}.Arn`,
          },
        },
      });
      const { MaximumRetryAttempts, MaximumRecordAgeInSeconds } = mapping!.properties;
      expect(MaximumRetryAttempts).toBeGreaterThan(0);
      // The stream keeps a day.
      expect(MaximumRecordAgeInSeconds).toBeLessThan(24 * 3600);
      expect(MaximumRecordAgeInSeconds).toBeGreaterThan(3600);
    },
  );

  it.each(ofKind('schedule'))(
    'ORC-5 $name runs on its schedule, a missed tick is not repeated',
    ({ name, trigger, timeoutMs }) => {
      expect(trigger.everyMs).toBe(60_000);
      // One invocation looks on until the next one starts, and its last look has time to finish.
      const { sweepForMs, sweepEveryMs } = timingSchema.parse({});
      expect(sweepForMs).toBe(trigger.everyMs);
      expect(timeoutMs).toBeGreaterThan(sweepForMs + sweepEveryMs);
      expect(ruleFor(name).properties).toMatchObject({
        ScheduleExpression: 'rate(1 minute)',
        State: 'ENABLED',
        Targets: [
          expect.objectContaining({
            RetryPolicy: { MaximumEventAgeInSeconds: 60, MaximumRetryAttempts: 0 },
          }),
        ],
      });
      expect(asyncSettings(name)).toMatchObject({ MaximumRetryAttempts: 0 });
    },
  );

  it.each(ofKind('taskStopped'))(
    'ORC-5 $name learns of every stopped task of the cluster, and no event is lost silently',
    ({ name }) => {
      const failures = `${queueNamed('nexusdesk-dev-workers-settle-stopped-task-failed').name}.Arn`;
      expect(ruleFor(name).properties).toMatchObject({
        EventPattern: {
          source: ['aws.ecs'],
          'detail-type': ['ECS Task State Change'],
          detail: {
            clusterArn: [`${environment.only('AWS::ECS::Cluster').name}.Arn`],
            lastStatus: ['STOPPED'],
          },
        },
        Targets: [expect.objectContaining({ DeadLetterConfig: { Arn: failures } })],
      });
      expect(asyncSettings(name)).toMatchObject({
        MaximumRetryAttempts: 2,
        DestinationConfig: { OnFailure: { Destination: failures } },
      });
    },
  );

  it('may bring a run back to the queue they got it from, as often as it waits', () => {
    const allowed = FUNCTIONS.map(({ name }) => functionOf(environment, name))
      .filter(({ properties }) => properties.RecursiveLoop === 'Allow')
      .map(({ properties }) => properties.FunctionName);
    expect(allowed).toEqual([
      'nexusdesk-dev-workers-dispatch-run',
      'nexusdesk-dev-workers-fail-dead-run',
    ]);
  });

  function queueNamed(name: string): Resource {
    const found = environment.all('AWS::SQS::Queue').find((q) => q.properties.QueueName === name);
    if (!found) throw new Error(`no queue is named ${name}`);
    return found;
  }

  function privateApi(): Resource {
    const found = environment
      .all('AWS::ApiGateway::RestApi')
      .find(({ stack }) => stack === 'execution');
    if (!found) throw new Error('no private API');
    return found;
  }

  function ruleFor(name: string): Resource {
    const target = `${functionOf(environment, name).name}.Arn`;
    const [rule, ...others] = environment
      .all('AWS::Events::Rule')
      .filter(({ properties }) =>
        (properties.Targets as readonly JsonObject[]).some(({ Arn }) => Arn === target),
      );
    if (!rule || others.length > 0) throw new Error(`${name} has not one rule`);
    return rule;
  }

  function asyncSettings(name: string): JsonObject | undefined {
    const target = functionOf(environment, name).name;
    return environment
      .all('AWS::Lambda::EventInvokeConfig')
      .find(({ properties }) => properties.FunctionName === target)?.properties;
  }
});
