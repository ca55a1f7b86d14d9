import { rm } from 'node:fs/promises';
import { Stage } from 'aws-cdk-lib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NetworkStack } from '#cdk/stacks/network-stack.ts';
import { StateStack } from '#cdk/stacks/state-stack.ts';
import { STAGES, type StageConfig } from '#cdk/stage-config.ts';
import { FUNCTIONS, RUNS_QUEUE_MAX_RECEIVES, TABLE_SHAPE } from '#shared/topology/index.ts';
import {
  createApp,
  type Environment,
  type Resource,
  synthesize,
  templateOf,
} from './environment.ts';
import { functionOf, statementsIn } from './policies.ts';
import type { JsonObject } from './resolve-template.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

const stageNamed = (wanted: string): StageConfig => {
  const found = STAGES.find(({ name }) => name === wanted);
  if (!found) throw new Error(`no stage ${wanted}`);
  return found;
};

/** Keys are always projected; attributes beside them only where the index names some. */
const projectionOf = (include: readonly string[]) =>
  include.length > 0
    ? { ProjectionType: 'INCLUDE', NonKeyAttributes: include }
    : { ProjectionType: 'KEYS_ONLY' };

describe('state', () => {
  let root: string;
  let dev: Environment;
  let prod: Environment;

  beforeAll(async () => {
    root = await createSourceSkeleton();
    dev = synthesize(stageNamed('dev'), root);
    prod = synthesize(stageNamed('prod'), root);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('OPS-1 has the table in the shape of the catalogue', () => {
    const { properties } = dev.only('AWS::DynamoDB::GlobalTable');
    const keys = (partitionKey: string, sortKey: string) => [
      { AttributeName: partitionKey, KeyType: 'HASH' },
      { AttributeName: sortKey, KeyType: 'RANGE' },
    ];
    expect(properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: keys(TABLE_SHAPE.partitionKey, TABLE_SHAPE.sortKey),
      StreamSpecification: { StreamViewType: TABLE_SHAPE.stream },
      TimeToLiveSpecification: { AttributeName: TABLE_SHAPE.timeToLive, Enabled: true },
    });
    expect(properties.GlobalSecondaryIndexes).toEqual(
      Object.values(TABLE_SHAPE.indexes).map((index) => ({
        IndexName: index.name,
        KeySchema: keys(index.partitionKey, index.sortKey),
        Projection: projectionOf(index.include),
      })),
    );
  });

  it('can be brought back to any second of five weeks', () => {
    for (const environment of [dev, prod]) {
      expect(replicaOf(environment).PointInTimeRecoverySpecification).toEqual({
        PointInTimeRecoveryEnabled: true,
        RecoveryPeriodInDays: 35,
      });
    }
  });

  it('is kept in prod, whatever happens to its stacks, and goes with them in dev', () => {
    const stateful = [
      'AWS::DynamoDB::GlobalTable',
      'AWS::S3::Bucket',
      'AWS::SecretsManager::Secret',
      'AWS::Cognito::UserPool',
    ];
    for (const type of stateful) {
      expect([type, prod.only(type).deletionPolicy]).toEqual([type, 'Retain']);
      expect([type, dev.only(type).deletionPolicy]).toEqual([type, 'Delete']);
    }
    expect(prod.only('AWS::KMS::Key').deletionPolicy).toBe('Retain');
    expect(replicaOf(prod).DeletionProtectionEnabled).toBe(true);
    expect(prod.only('AWS::Cognito::UserPool').properties.DeletionProtection).toBe('ACTIVE');
    expect(terminationProtection(prod)).toEqual(Array(5).fill(true));
    expect(terminationProtection(dev)).toEqual(Array(5).fill(false));
  });

  it('is encrypted with a key of its own in prod, which only its services may use', () => {
    const key = prod.only('AWS::KMS::Key');
    expect(key.properties.EnableKeyRotation).toBe(true);
    const keyArn = `${key.name}.Arn`;
    expect(replicaOf(prod).SSESpecification).toEqual({ KMSMasterKeyId: keyArn });
    expect(prod.only('AWS::SecretsManager::Secret').properties.KmsKeyId).toBe(keyArn);
    expect(JSON.stringify(prod.only('AWS::S3::Bucket').properties.BucketEncryption)).toContain(
      keyArn,
    );
    const [administration, use, ...others] = statementsIn(key.properties.KeyPolicy);
    expect([administration?.actions, others]).toEqual([['kms:*'], []]);
    expect(use?.conditions).toEqual({
      StringEquals: {
        'kms:CallerAccount': 'ACCOUNT',
        'kms:ViaService': ['dynamodb', 's3', 'secretsmanager'].map(
          (service) => `${service}.${prod.config.region}.amazonaws.com`,
        ),
      },
    });
    expect(dev.all('AWS::KMS::Key')).toEqual([]);
  });

  it('keeps blobs private, encrypted in transit, and not for ever', () => {
    const bucket = dev.only('AWS::S3::Bucket');
    expect(bucket.properties.PublicAccessBlockConfiguration).toEqual({
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    });
    expect(JSON.stringify(bucket.properties.LifecycleConfiguration)).toContain('ExpirationInDays');
    expect(refusesPlainText(dev.only('AWS::S3::BucketPolicy'))).toBe(true);
  });

  describe('queues', () => {
    const queues = () => dev.all('AWS::SQS::Queue');

    it('ORC-5 either have a dead-letter queue or are one', () => {
      const targets = new Set(
        [
          ...queues().map(
            ({ properties }) => (properties.RedrivePolicy as JsonObject)?.deadLetterTargetArn,
          ),
          ...JSON.stringify(dev.resources).matchAll(
            /"(?:Destination|DeadLetterConfig)":(?:\{"Arn":)?"([^"]+)"/g,
          ),
        ].map((found) => (Array.isArray(found) ? found[1] : found)),
      );
      const alone = queues().filter(
        ({ name, properties }) => !properties.RedrivePolicy && !targets.has(`${name}.Arn`),
      );
      expect(queues()).toHaveLength(5);
      expect(alone).toEqual([]);
    });

    it('are encrypted, refuse plain connections, and are not FIFO: tenants share by message group', () => {
      for (const queue of queues()) {
        expect(queue.properties.SqsManagedSseEnabled).toBe(true);
        expect(queue.properties.FifoQueue).toBeUndefined();
        const policy = dev
          .all('AWS::SQS::QueuePolicy')
          .find(({ properties }) => (properties.Queues as readonly string[]).includes(queue.name));
        expect([queue.name, policy && refusesPlainText(policy)]).toEqual([queue.name, true]);
      }
    });

    it('B58 hide a message for at least six times as long as its function may take', () => {
      const consumed = dev.all('AWS::Lambda::EventSourceMapping').flatMap(({ properties }) => {
        const queue = queues().find(({ name }) => `${name}.Arn` === properties.EventSourceArn);
        const consumer = dev.resources.find(({ name }) => name === properties.FunctionName);
        return queue && consumer ? [{ queue, consumer }] : [];
      });
      expect(consumed).toHaveLength(2);
      for (const { queue, consumer } of consumed) {
        const { VisibilityTimeout } = queue.properties;
        expect(VisibilityTimeout).toBeGreaterThanOrEqual(6 * Number(consumer.properties.Timeout));
      }
    });

    it('B56 bear deliveries that are throttled: more than one at once, and five before one is set aside', () => {
      const consumers = FUNCTIONS.flatMap(({ trigger }) =>
        trigger.kind === 'queue' ? [trigger.maxConcurrency] : [],
      );
      expect(consumers).toHaveLength(2);
      expect(Math.min(...consumers)).toBeGreaterThanOrEqual(2);
      expect(RUNS_QUEUE_MAX_RECEIVES).toBeGreaterThanOrEqual(5);
    });

    it('ORC-5 set a launch aside after so many attempts, and keep it longer than the launch queue', () => {
      const [runs, deadLetters] = ['runs', 'runs-dead-letter'].map((name) =>
        queues().find(({ properties }) => properties.QueueName === `nexusdesk-dev-${name}`),
      );
      expect(runs?.properties.RedrivePolicy).toEqual({
        deadLetterTargetArn: `${deadLetters?.name}.Arn`,
        maxReceiveCount: RUNS_QUEUE_MAX_RECEIVES,
      });
      const retention = (queue: Resource | undefined) =>
        Number(queue?.properties.MessageRetentionPeriod);
      expect(retention(deadLetters)).toBeGreaterThan(retention(runs));
    });
  });

  describe('users', () => {
    it('SEC-4 cannot choose their tenant', () => {
      const pool = dev.only('AWS::Cognito::UserPool').properties;
      const client = dev.only('AWS::Cognito::UserPoolClient').properties;
      expect(pool.AdminCreateUserConfig).toEqual({ AllowAdminCreateUserOnly: true });
      expect(pool.Schema).toEqual([expect.objectContaining({ Name: 'tenant_id', Mutable: false })]);
      expect(client.ReadAttributes).toContain('custom:tenant_id');
      expect(client.WriteAttributes).toEqual(['email']);
    });

    it('come from the OIDC issuer where one is configured, and no pool is made', () => {
      const identity = {
        kind: 'oidc',
        issuer: 'https://login.example.com/',
        audience: 'nexusdesk',
        jwksUrl: 'https://login.example.com/keys',
      } as const;
      const environment = synthesize({ ...stageNamed('dev'), identity }, root);
      expect(environment.all('AWS::Cognito::UserPool')).toEqual([]);
      expect(functionOf(environment, 'api/authorize-request').properties.Environment).toEqual({
        Variables: {
          JWT_ISSUER: identity.issuer,
          JWT_AUDIENCE: identity.audience,
          JWKS_URL: identity.jwksUrl,
        },
      });
    });
  });

  // Deploying fails with "export cannot be deleted as it is in use" when an export goes with its last use, and
  // with "cannot be updated" when its value changes with each deployment.
  it('is exported whether it is used or not, and nothing that changes with an image is', () => {
    const stage = new Stage(createApp(), 'dev', { env: { region: dev.config.region } });
    const context = { config: dev.config, sourceRoot: root };
    const alone = [
      new StateStack(stage, 'State', { context, stackName: 'nexusdesk-dev-state' }),
      new NetworkStack(stage, 'Network', { context, stackName: 'nexusdesk-dev-network' }),
    ];
    const exported = alone.flatMap((stack) => exportsOf(templateOf(stack)));
    const imported = [dev.stage.execution, dev.stage.control, dev.stage.alarms]
      .flatMap((stack) => [
        ...JSON.stringify(templateOf(stack)).matchAll(/"Fn::ImportValue":"([^"]+)"/g),
      ])
      .map(([, name]) => name);
    const fromExecution = exportsOf(templateOf(dev.stage.execution));
    const known = new Set<string | undefined>([...exported, ...fromExecution]);
    expect(imported.filter((name) => !known.has(name))).toEqual([]);
    expect(imported.length).toBeGreaterThan(FUNCTIONS.length);
    expect(fromExecution).toEqual([expect.stringContaining('ClusterArn')]);
  });
});

function exportsOf(template: JsonObject): string[] {
  return Object.values((template.Outputs ?? {}) as JsonObject).flatMap((output) => {
    const { Export } = output as { Export?: { Name: string } };
    return Export ? [Export.Name] : [];
  });
}

function replicaOf(environment: Environment): JsonObject {
  const { Replicas } = environment.only('AWS::DynamoDB::GlobalTable').properties;
  const [replica] = Replicas as readonly JsonObject[];
  if (!replica) throw new Error('the table has no replica');
  return replica;
}

function terminationProtection({ stage }: Environment): (boolean | undefined)[] {
  const { state, network, execution, control, alarms } = stage;
  return [state, network, execution, control, alarms].map((stack) => stack.terminationProtection);
}

function refusesPlainText({ properties }: Resource): boolean {
  return statementsIn(properties.PolicyDocument).some(
    ({ effect, conditions }) =>
      effect === 'Deny' && conditions.Bool?.['aws:SecureTransport'] === 'false',
  );
}
