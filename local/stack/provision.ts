import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  CreateClusterCommand,
  DescribeTaskDefinitionCommand,
  ECSClient,
  RegisterTaskDefinitionCommand,
} from '@aws-sdk/client-ecs';
import {
  CreateEventBusCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
  ResourceAlreadyExistsException,
} from '@aws-sdk/client-eventbridge';
import { BucketAlreadyOwnedByYou, CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import {
  CreateSecretCommand,
  PutSecretValueCommand,
  ResourceExistsException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { FUNCTIONS, RUNS_QUEUE_MAX_RECEIVES, TASK_CONTAINER_NAME } from '#shared/topology/index.ts';
import { ignore } from './ignore.ts';
import { makeTable } from './make-table.ts';
import { PLACE } from './place.ts';

export const HOST_IMAGE = 'nexusdesk/runtime-host';
export const TENANT_SECRETS_PREFIX = 'nexusdesk/local/tenants/';
export const STOPPED_TASK_TARGET = 'settle-stopped-task';

const TABLE_NAME = 'nexusdesk';
const BUS_NAME = 'nexusdesk';
const CLUSTER = 'nexusdesk';
const FAMILY = 'nexusdesk-runtime-host';
const BLOB_BUCKET = 'nexusdesk-blobs';
const SIGNING_SECRET = 'nexusdesk/local/signing';
/** A laptop's functions finish in moments; a launch whose stack was killed is tried again soon. */
const VISIBILITY_SECONDS = 30;

export interface Provisioned {
  readonly tableName: string;
  readonly streamArn: string;
  readonly runsQueueUrl: string;
  readonly deadLetterQueueUrl: string;
  /** By the name of the function behind the table's stream that gives up. */
  readonly failureQueueUrls: Readonly<Record<string, string>>;
  readonly busName: string;
  readonly clusterArn: string;
  readonly taskDefinitionArn: string;
  readonly signingSecretId: string;
  readonly blobBucket: string;
}

/** Makes what `cdk deploy` makes in the cloud, through the same AWS API. What is there already stays as it is. */
export async function provision(options: {
  signingSecret: () => string;
  stopTimeoutSeconds: number;
}): Promise<Provisioned> {
  const streamArn = await makeTable(new DynamoDBClient({}), TABLE_NAME);
  const sqs = new SQSClient({});
  const queues = { ...(await makeQueues(sqs)), failureQueueUrls: await makeFailureQueues(sqs) };
  await makeBus(new EventBridgeClient({}));
  const tasks = await makeTasks(new ECSClient({}), options.stopTimeoutSeconds);
  await new S3Client({})
    .send(new CreateBucketCommand({ Bucket: BLOB_BUCKET }))
    .catch(ignore(BucketAlreadyOwnedByYou));
  await new SecretsManagerClient({})
    .send(new CreateSecretCommand({ Name: SIGNING_SECRET, SecretString: options.signingSecret() }))
    .catch(ignore(ResourceExistsException));
  return {
    tableName: TABLE_NAME,
    streamArn,
    ...queues,
    busName: BUS_NAME,
    ...tasks,
    signingSecretId: SIGNING_SECRET,
    blobBucket: BLOB_BUCKET,
  };
}

/** Names of the queues that only the functions of this stack receive from. */
export function platformQueues(provisioned: Provisioned): string[] {
  return [provisioned.runsQueueUrl, provisioned.deadLetterQueueUrl].map((url) =>
    url.slice(url.lastIndexOf('/') + 1),
  );
}

async function makeQueues(client: SQSClient) {
  const dead = await client.send(
    new CreateQueueCommand({ QueueName: 'nexusdesk-runs-dead-letter' }),
  );
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: dead.QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const runs = await client.send(
    new CreateQueueCommand({
      QueueName: 'nexusdesk-runs',
      Attributes: {
        VisibilityTimeout: String(VISIBILITY_SECONDS),
        RedrivePolicy: JSON.stringify({
          deadLetterTargetArn: Attributes?.QueueArn,
          maxReceiveCount: RUNS_QUEUE_MAX_RECEIVES,
        }),
      },
    }),
  );
  if (!runs.QueueUrl || !dead.QueueUrl) throw new Error('the queues were not made');
  return { runsQueueUrl: runs.QueueUrl, deadLetterQueueUrl: dead.QueueUrl };
}

async function makeFailureQueues(client: SQSClient): Promise<Record<string, string>> {
  const made = FUNCTIONS.filter(({ trigger }) => trigger.kind === 'tableStream').map(
    async ({ name }) => {
      const QueueName = `nexusdesk-${name.replace('/', '-')}-failed`;
      const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName }));
      if (!QueueUrl) throw new Error(`the queue ${QueueName} was not made`);
      return [name, QueueUrl] as const;
    },
  );
  return Object.fromEntries(await Promise.all(made));
}

async function makeBus(client: EventBridgeClient): Promise<void> {
  await client
    .send(new CreateEventBusCommand({ Name: BUS_NAME }))
    .catch(ignore(ResourceAlreadyExistsException));
  const Name = 'nexusdesk-task-stopped';
  await client.send(
    new PutRuleCommand({
      Name,
      EventPattern: JSON.stringify({
        source: ['aws.ecs'],
        'detail-type': ['ECS Task State Change'],
        detail: { lastStatus: ['STOPPED'] },
      }),
    }),
  );
  await client.send(
    new PutTargetsCommand({
      Rule: Name,
      Targets: [
        {
          Id: 'function',
          Arn: `arn:aws:lambda:${PLACE.region}:${PLACE.accountId}:function:${STOPPED_TASK_TARGET}`,
        },
      ],
    }),
  );
}

async function makeTasks(client: ECSClient, stopTimeout: number) {
  const { cluster } = await client.send(new CreateClusterCommand({ clusterName: CLUSTER }));
  const known = await client
    .send(new DescribeTaskDefinitionCommand({ taskDefinition: FAMILY }))
    .then(({ taskDefinition }) => taskDefinition)
    .catch(() => undefined);
  const [container] = known?.containerDefinitions ?? [];
  const definition =
    container?.stopTimeout === stopTimeout
      ? known
      : (
          await client.send(
            new RegisterTaskDefinitionCommand({
              family: FAMILY,
              requiresCompatibilities: ['FARGATE'],
              networkMode: 'awsvpc',
              cpu: '1024',
              memory: '2048',
              containerDefinitions: [
                { name: TASK_CONTAINER_NAME, image: HOST_IMAGE, essential: true, stopTimeout },
              ],
            }),
          )
        ).taskDefinition;
  if (!cluster?.clusterArn || !definition?.taskDefinitionArn)
    throw new Error('the cluster was not made');
  return { clusterArn: cluster.clusterArn, taskDefinitionArn: definition.taskDefinitionArn };
}

/** Stores a credential of a tenant, or replaces its value. */
export async function storeTenantCredential(
  tenantId: string,
  name: string,
  value: string,
): Promise<void> {
  const client = new SecretsManagerClient({});
  const Name = `${TENANT_SECRETS_PREFIX}${tenantId}/${name}`;
  await client
    .send(new CreateSecretCommand({ Name, SecretString: value }))
    .catch(async (error: unknown) => {
      if (!(error instanceof ResourceExistsException)) throw error;
      await client.send(new PutSecretValueCommand({ SecretId: Name, SecretString: value }));
    });
}
