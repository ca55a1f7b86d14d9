import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import {
  FUNCTIONS,
  RUNS_QUEUE_MAX_RECEIVES,
  RUNS_QUEUE_VISIBILITY_MS,
  WAIT_LIST_PREFIX,
} from '#shared/topology/index.ts';
import { createDataKey } from '../constructs/data-key.ts';
import { RunTable } from '../constructs/run-table.ts';
import { PlatformUserPool } from '../constructs/user-pool.ts';
import { WorkQueue } from '../constructs/work-queue.ts';
import { ACTIONS, type Offers } from '../offers.ts';
import {
  type PlatformContext,
  type PlatformStackProps,
  physicalName,
  removalPolicyOf,
  tenantSecretsPrefix,
} from '../platform-context.ts';

type StateUse =
  | 'tableRead'
  | 'tableWrite'
  | 'leaveWaitList'
  | 'sendRuns'
  | 'signingSecret'
  | 'putBlobs'
  | 'readBlobs'
  | 'tenantSecrets'
  | 'publishEvents'
  | 'verifyTokens';

/** Lambda asks for six: a batch may be tried again within the time of one delivery. */
const VISIBILITY_PER_TIMEOUT = 6;

/** Everything that holds data. It knows no other stack and is the last one to go. */
export class StateStack extends Stack {
  readonly offers: Offers<StateUse>;
  readonly tableStreamArn: string;
  readonly queueArns: { readonly runs: string; readonly runsDeadLetter: string };

  constructor(scope: Construct, id: string, props: PlatformStackProps) {
    super(scope, id, props);
    const { context } = props;
    const key =
      context.config.encryption === 'customer_key'
        ? createDataKey(this, 'Key', context)
        : undefined;
    const { table, streamArn } = new RunTable(this, 'Runs', { context, key });
    const { queue, deadLetters } = new WorkQueue(this, 'RunsQueue', {
      context,
      name: 'runs',
      visibilityMs: RUNS_QUEUE_VISIBILITY_MS,
      maxReceives: RUNS_QUEUE_MAX_RECEIVES,
      deadLetterVisibilityMs: visibilityFor('runsDeadLetter'),
    });
    const bus = new EventBus(this, 'Bus', {
      eventBusName: physicalName(context.config, 'events'),
    });
    const signingSecret = createSigningSecret(this, context, key);
    const blobs = createBlobBucket(this, context, key);
    const blobEnvironment = { BLOB_BUCKET: blobs.bucketName };
    const blobsOfRuns = [blobs.arnForObjects('runs/*')];

    this.tableStreamArn = streamArn;
    this.queueArns = { runs: queue.queueArn, runsDeadLetter: deadLetters.queueArn };
    const environment = { TABLE_NAME: table.tableName };
    const tableAndIndexes = [table.tableArn, `${table.tableArn}/index/*`];
    this.offers = {
      tableRead: {
        environment,
        allow: [{ actions: ACTIONS.tableRead, resources: tableAndIndexes }],
      },
      tableWrite: {
        environment,
        allow: [{ actions: ACTIONS.tableWrite, resources: tableAndIndexes }],
      },
      leaveWaitList: {
        environment,
        allow: [
          {
            actions: ACTIONS.leaveWaitList,
            resources: [table.tableArn],
            conditions: {
              'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [`${WAIT_LIST_PREFIX}*`] },
              // Without keys in the request, "for all of them" would be true.
              Null: { 'dynamodb:LeadingKeys': 'false' },
            },
          },
        ],
      },
      sendRuns: {
        environment: { RUNS_QUEUE_URL: queue.queueUrl },
        allow: [{ actions: ACTIONS.sendRuns, resources: [queue.queueArn] }],
      },
      signingSecret: {
        environment: { SIGNING_SECRET_ID: signingSecret.secretArn },
        allow: [{ actions: ACTIONS.signingSecret, resources: [signingSecret.secretArn] }],
      },
      putBlobs: {
        environment: blobEnvironment,
        allow: [{ actions: ACTIONS.putBlobs, resources: blobsOfRuns }],
      },
      readBlobs: {
        environment: blobEnvironment,
        allow: [{ actions: ACTIONS.readBlobs, resources: blobsOfRuns }],
      },
      tenantSecrets: {
        environment: { TENANT_SECRETS_PREFIX: tenantSecretsPrefix(context.config) },
        allow: [{ actions: ACTIONS.tenantSecrets, resources: [tenantSecretArns(this, context)] }],
      },
      publishEvents: {
        environment: { EVENT_BUS_NAME: bus.eventBusName },
        allow: [{ actions: ACTIONS.publishEvents, resources: [bus.eventBusArn] }],
      },
      verifyTokens: { environment: this.#tokenIssuer(context), allow: [] },
    };
    this.#keepExports([
      table.tableArn,
      table.tableName,
      streamArn,
      queue.queueArn,
      queue.queueUrl,
      deadLetters.queueArn,
      signingSecret.secretArn,
      blobs.bucketArn,
      blobs.bucketName,
      bus.eventBusArn,
      bus.eventBusName,
    ]);
  }

  #tokenIssuer(context: PlatformContext) {
    const { identity } = context.config;
    if (identity.kind === 'oidc') {
      return {
        JWT_ISSUER: identity.issuer,
        JWT_AUDIENCE: identity.audience,
        JWKS_URL: identity.jwksUrl,
      };
    }
    const { pool, client } = new PlatformUserPool(this, 'Users', context);
    const { userPoolId } = pool;
    const { userPoolClientId } = client;
    new CfnOutput(this, 'UserPoolId', { value: userPoolId });
    new CfnOutput(this, 'UserPoolClientId', { value: userPoolClientId });
    this.#keepExports([userPoolId, userPoolClientId]);
    const issuer = `https://cognito-idp.${this.region}.${this.urlSuffix}/${userPoolId}`;
    return {
      JWT_ISSUER: issuer,
      // The audience of id tokens; access tokens of a user pool carry neither audience nor tenant.
      JWT_AUDIENCE: userPoolClientId,
      JWKS_URL: `${issuer}/.well-known/jwks.json`,
    };
  }

  /**
   * Exports what other stacks use, whether they do at the moment or not. An export that vanishes with its last use
   * blocks the deployment that removes the use: this stack goes first, and its old export is still imported.
   */
  #keepExports(values: readonly string[]): void {
    for (const value of values) this.exportValue(value);
  }
}

function visibilityFor(queue: 'runs' | 'runsDeadLetter'): number {
  const timeouts = FUNCTIONS.flatMap(({ trigger, timeoutMs }) =>
    trigger.kind === 'queue' && trigger.queue === queue ? [timeoutMs] : [],
  );
  return VISIBILITY_PER_TIMEOUT * Math.max(...timeouts);
}

/** Signs tickets, execution tokens and cursors. Generated in the account; no template and no person knows it. */
function createSigningSecret(
  scope: Construct,
  { config }: PlatformContext,
  key: IKey | undefined,
): Secret {
  return new Secret(scope, 'SigningSecret', {
    description: `Signs launch tickets and execution tokens of NexusDesk ${config.name}`,
    generateSecretString: { passwordLength: 64, excludePunctuation: true },
    ...(key ? { encryptionKey: key } : {}),
    removalPolicy: removalPolicyOf(config),
  });
}

/** Secrets of tenants are made outside of this app, below the prefix. */
function tenantSecretArns(stack: Stack, { config }: PlatformContext): string {
  return `arn:${stack.partition}:secretsmanager:${stack.region}:${stack.account}:secret:${tenantSecretsPrefix(config)}*`;
}

const BLOB_DAYS = 90;

/** What is too large for the table: outsized events and artifacts. */
function createBlobBucket(
  scope: Construct,
  { config }: PlatformContext,
  key: IKey | undefined,
): Bucket {
  return new Bucket(scope, 'Blobs', {
    ...(key
      ? { encryption: BucketEncryption.KMS, encryptionKey: key, bucketKeyEnabled: true }
      : { encryption: BucketEncryption.S3_MANAGED }),
    blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
    objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
    enforceSSL: true,
    minimumTLSVersion: 1.2,
    versioned: config.protectData,
    lifecycleRules: [
      {
        expiration: Duration.days(BLOB_DAYS),
        noncurrentVersionExpiration: Duration.days(BLOB_DAYS),
        abortIncompleteMultipartUploadAfter: Duration.days(1),
      },
    ],
    removalPolicy: removalPolicyOf(config),
  });
}
