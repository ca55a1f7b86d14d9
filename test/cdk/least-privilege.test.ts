import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STAGES } from '#cdk/stage-config.ts';
import { FUNCTIONS, type FunctionEntry, type Use } from '#shared/topology/index.ts';
import { type Environment, synthesize } from './environment.ts';
import {
  actionsOf,
  allowedTo,
  functionOf,
  policyDocuments,
  roleOf,
  type Statement,
} from './policies.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

/** Written down a second time: a grant that grows in the product has to be argued for here too. */
const FOR_USE: Readonly<Record<Use, readonly string[]>> = {
  tableRead: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'],
  tableWrite: [
    'dynamodb:BatchGetItem',
    'dynamodb:ConditionCheckItem',
    'dynamodb:GetItem',
    'dynamodb:PutItem',
    'dynamodb:Query',
    'dynamodb:UpdateItem',
  ],
  leaveWaitList: ['dynamodb:DeleteItem'],
  sendRuns: ['sqs:SendMessage'],
  runTasks: ['ecs:RunTask', 'iam:PassRole'],
  stopTasks: ['ecs:StopTask'],
  describeTasks: ['ecs:DescribeTasks'],
  listTasks: ['ecs:ListTasks'],
  signingSecret: ['secretsmanager:GetSecretValue'],
  putBlobs: ['s3:PutObject'],
  readBlobs: ['s3:GetObject'],
  tenantSecrets: ['secretsmanager:GetSecretValue'],
  publishEvents: ['events:PutEvents'],
  reportOutboxFailures: ['sqs:SendMessage'],
  reportUsageFailures: ['sqs:SendMessage'],
  redriveFailures: [
    'dynamodb:GetRecords',
    'dynamodb:GetShardIterator',
    'sqs:DeleteMessage',
    'sqs:GetQueueAttributes',
    'sqs:ReceiveMessage',
  ],
  verifyTokens: [],
  engines: [],
  runLimits: [],
};

const FOR_TRIGGER: Readonly<Record<FunctionEntry['trigger']['kind'], readonly string[]>> = {
  http: [],
  authorizer: [],
  schedule: [],
  queue: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
  tableStream: [
    'dynamodb:DescribeStream',
    'dynamodb:GetRecords',
    'dynamodb:GetShardIterator',
    'dynamodb:ListStreams',
    'sqs:SendMessage',
  ],
  taskStopped: ['sqs:SendMessage'],
  operator: [],
};

const FOR_EVERY_FUNCTION = [
  'logs:CreateLogStream',
  'logs:PutLogEvents',
  'xray:PutTelemetryRecords',
  'xray:PutTraceSegments',
];

/** Actions for which AWS knows no resource to name. */
const WITHOUT_RESOURCE = new Set([
  'ecr:GetAuthorizationToken',
  // The condition on the cluster bounds it; see the test of tasks.
  'ecs:ListTasks',
  'xray:PutTelemetryRecords',
  'xray:PutTraceSegments',
]);

/** The account administers its own key; without this statement nobody could ever change it. */
const isKeyAdministration = ({ actions, resources }: Statement) =>
  actions.join() === 'kms:*' && resources.join() === '*';

const tooWideActions = (statements: readonly Statement[]) =>
  statements
    .filter((statement) => statement.effect === 'Allow' && !isKeyAdministration(statement))
    .flatMap(({ actions }) => actions)
    .filter((action) => action.includes('*'));

const unboundActions = (statements: readonly Statement[]) =>
  statements
    .filter(({ effect, resources }) => effect === 'Allow' && resources.includes('*'))
    .flatMap(({ actions }) => actions)
    .filter((action) => !WITHOUT_RESOURCE.has(action));

describe.each(STAGES)('in $name', (config) => {
  let root: string;
  let environment: Environment;

  beforeAll(async () => {
    root = await createSourceSkeleton();
    environment = synthesize(config, root);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const statementsOf = (name: string) =>
    allowedTo(environment, roleOf(functionOf(environment, name)));
  const statementsFor = (name: string, action: string) =>
    statementsOf(name).filter(({ actions }) => actions.includes(action));
  const account = (rest: string) => `arn:aws:${rest.replaceAll('@', `${config.region}:ACCOUNT`)}`;

  it.each(FUNCTIONS)(
    '$name may do what its uses and its trigger need, and nothing else',
    (entry) => {
      const wanted = [
        ...FOR_EVERY_FUNCTION,
        ...FOR_TRIGGER[entry.trigger.kind],
        ...entry.uses.flatMap((use) => FOR_USE[use]),
      ];
      expect(actionsOf(statementsOf(entry.name))).toEqual([...new Set(wanted)].toSorted());
    },
  );

  it('no policy allows a wildcard of actions, or a real action on everything', () => {
    const documents = policyDocuments(environment);
    expect(documents.length).toBeGreaterThan(FUNCTIONS.length);
    for (const { resource, statements } of documents) {
      expect([resource.name, tooWideActions(statements)]).toEqual([resource.name, []]);
      // A key's policy says `*` for the key itself.
      if (resource.type === 'AWS::KMS::Key') continue;
      expect([resource.name, unboundActions(statements)]).toEqual([resource.name, []]);
    }
  });

  it('is judged by checks that can fail', () => {
    const allow = (actions: string[], resources: string[]): Statement[] => [
      { effect: 'Allow', actions, resources, conditions: {} },
    ];
    expect(tooWideActions(allow(['s3:*'], ['a']))).toEqual(['s3:*']);
    expect(tooWideActions(allow(['*'], ['a']))).toEqual(['*']);
    expect(tooWideActions(allow(['dynamodb:Get*'], ['a']))).toEqual(['dynamodb:Get*']);
    expect(unboundActions(allow(['sqs:SendMessage'], ['*']))).toEqual(['sqs:SendMessage']);
    expect(unboundActions(allow(['xray:PutTraceSegments'], ['*']))).toEqual([]);
  });

  it('only API Gateway, which writes the logs of all APIs of the account, has a policy of AWS', () => {
    const managed = environment
      .all('AWS::IAM::Role')
      .filter(({ properties }) => properties.ManagedPolicyArns !== undefined);
    expect(managed.map(({ properties }) => properties.ManagedPolicyArns)).toEqual([
      ['arn:aws:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs'],
    ]);
    const inline = environment
      .all('AWS::IAM::Role')
      .filter(({ properties }) => properties.Policies !== undefined);
    expect(inline).toEqual([]);
  });

  it('data is reached in our table and its indexes only', () => {
    const table = environment.only('AWS::DynamoDB::GlobalTable').name;
    const known = [`${table}.Arn`, `${table}.Arn/index/*`, `${table}.StreamArn`];
    const reached = FUNCTIONS.flatMap(({ name }) => statementsOf(name))
      .filter(({ actions }) => actions.some((action) => action.startsWith('dynamodb:')))
      .flatMap(({ resources }) => resources);
    expect([...new Set(reached)].toSorted()).toEqual(known.toSorted());
  });

  it('each function logs to its own group only', () => {
    for (const { name } of FUNCTIONS) {
      const { LogGroup } = functionOf(environment, name).properties.LoggingConfig as {
        LogGroup: string;
      };
      const [logs, ...others] = statementsFor(name, 'logs:PutLogEvents');
      expect([logs?.resources, others]).toEqual([[`${LogGroup}.Arn`], []]);
    }
  });

  it('SEC-1 secrets of tenants are readable for the function that hands them to hosts, by prefix', () => {
    const secrets = account(`secretsmanager:@:secret:nexusdesk/${config.name}/tenants/*`);
    const signing = environment.only('AWS::SecretsManager::Secret').name;
    for (const { name, uses } of FUNCTIONS) {
      const readable = statementsFor(name, 'secretsmanager:GetSecretValue').flatMap(
        ({ resources }) => resources,
      );
      const wanted = [
        ...(uses.includes('signingSecret') ? [signing] : []),
        ...(uses.includes('tenantSecrets') ? [secrets] : []),
      ];
      expect([name, readable.toSorted()]).toEqual([name, wanted.toSorted()]);
    }
    const withTenantSecrets = FUNCTIONS.filter(({ uses }) => uses.includes('tenantSecrets'));
    expect(withTenantSecrets.map(({ name }) => name)).toEqual(['gateway/claim-run']);
  });

  it('tasks are started from our definition, on our cluster, with the one role that Fargate needs', () => {
    const cluster = `${environment.only('AWS::ECS::Cluster').name}.Arn`;
    const task = environment.only('AWS::ECS::TaskDefinition').properties;
    const onCluster = { ArnEquals: { 'ecs:cluster': cluster } };
    expect(statementsFor('workers/dispatch-run', 'ecs:RunTask')).toEqual([
      {
        effect: 'Allow',
        actions: ['ecs:RunTask'],
        resources: [account(`ecs:@:task-definition/nexusdesk-${config.name}-engine:*`)],
        conditions: onCluster,
      },
    ]);
    expect(task.Family).toBe(`nexusdesk-${config.name}-engine`);
    expect(statementsFor('workers/dispatch-run', 'iam:PassRole')).toEqual([
      {
        effect: 'Allow',
        actions: ['iam:PassRole'],
        resources: [task.ExecutionRoleArn],
        conditions: { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } },
      },
    ]);
    const tasks = [account(`ecs:@:task/nexusdesk-${config.name}-engines/*`)];
    for (const { name, uses } of FUNCTIONS) {
      for (const [use, action, reached] of [
        ['stopTasks', 'ecs:StopTask', tasks],
        ['describeTasks', 'ecs:DescribeTasks', tasks],
        ['listTasks', 'ecs:ListTasks', ['*']],
      ] as const) {
        const scopes = statementsFor(name, action).map(({ resources, conditions }) => ({
          resources,
          conditions,
        }));
        const wanted = uses.includes(use) ? [{ resources: reached, conditions: onCluster }] : [];
        expect([name, scopes]).toEqual([name, wanted]);
      }
    }
  });

  it('messages go to the launch queue and to failure queues of their sender', () => {
    const queueName = (arn: string) =>
      environment.all('AWS::SQS::Queue').find(({ name }) => `${name}.Arn` === arn)?.properties
        .QueueName;
    for (const { name, uses, trigger } of FUNCTIONS) {
      const targets = statementsFor(name, 'sqs:SendMessage').flatMap(({ resources }) => resources);
      const ownFailures = trigger.kind === 'tableStream' || trigger.kind === 'taskStopped';
      const wanted = [
        ...(uses.includes('sendRuns') ? [`nexusdesk-${config.name}-runs`] : []),
        ...(ownFailures ? [`nexusdesk-${config.name}-${name.replaceAll('/', '-')}-failed`] : []),
      ];
      expect([name, targets.map(queueName).toSorted()]).toEqual([name, wanted.toSorted()]);
    }
  });

  it('roles can be taken by AWS services only', () => {
    const principals = environment
      .all('AWS::IAM::Role')
      .map(({ properties }) => JSON.stringify(properties.AssumeRolePolicyDocument));
    for (const document of principals) {
      expect(document).toMatch(/"Principal":\{"Service":"[a-z-]+\.amazonaws\.com"\}/);
      expect(document).not.toContain('"AWS"');
    }
  });

  it('SEC-2 no value of a secret is in a template', () => {
    const secret = environment.only('AWS::SecretsManager::Secret').properties;
    expect(Object.keys(secret)).toContain('GenerateSecretString');
    expect(Object.keys(secret)).not.toContain('SecretString');
    // How CloudFormation would write one into a variable or an override.
    const resolved = JSON.stringify(environment.resources).match(/\{\{resolve:[^}]*/g) ?? [];
    expect(resolved).toEqual([]);
  });
});
