import type { USES, Use } from '#shared/topology/index.ts';

type Variable<U extends Use> = (typeof USES)[U]['environment'][number];

/** Actions on resources, as in an IAM statement. No wildcards in actions. */
export interface Allowance {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What a function gets for one use of the catalogue: the values of its variables, and what it may do. */
export interface Offer<U extends Use> {
  readonly environment: Readonly<Record<Variable<U>, string>>;
  readonly allow: readonly Allowance[];
}

/** A stack offers what its resources stand for; the type holds each offer to the variables in the catalogue. */
export type Offers<U extends Use> = { readonly [K in U]: Offer<K> };

/** Actions per use. A test compares the policies in the templates with this table, written down once more there. */
export const ACTIONS = {
  tableRead: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:Query'],
  // Nothing that a run or its log is made of is deleted: what ends is marked, and garbage expires.
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
  runTasks: ['ecs:RunTask'],
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
  redriveFailures: ['sqs:DeleteMessage', 'sqs:GetQueueAttributes', 'sqs:ReceiveMessage'],
  verifyTokens: [],
  engines: [],
  runLimits: [],
} as const satisfies Record<Use, readonly string[]>;
