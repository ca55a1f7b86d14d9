import { randomBytes } from 'node:crypto';
import type { AwsJsonService, AwsOperation } from '../kit/aws-endpoint.ts';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import { listSecrets, tagsOf } from './list-secrets.ts';
import { type Secret, SecretStore } from './secret-store.ts';
import {
  addVersion,
  CURRENT,
  findVersion,
  invalidParameter,
  invalidRequest,
  resourceExists,
  resourceNotFound,
  secretValueOf,
  stagesOf,
  versionIdOf,
} from './versions.ts';

export interface SecretsOptions {
  /** Holds the secrets in plain text: this is a laptop's stand-in, keep its file private. */
  readonly state: StateDatabase;
  readonly region: string;
  readonly accountId: string;
  /** Milliseconds since 1970; the system clock when omitted. */
  readonly now?: () => number;
}

const DAY_MS = 24 * 60 * 60_000;

/** An embedded AWS Secrets Manager: values with versions and staging labels, deletion with a way back. */
export function openSecrets(options: SecretsOptions): AwsJsonService {
  const { state, region, accountId, now = Date.now } = options;
  const store = new SecretStore(state);

  /** Finds a secret by name or ARN; one scheduled for deletion only when `deleted` says so. */
  const find = (secretId: unknown, { deleted = false } = {}): Secret => {
    store.purge(now());
    const id = String(secretId ?? '');
    const secret = id.startsWith('arn:') ? store.ofArn(id) : store.named(id);
    if (!secret) throw resourceNotFound("Secrets Manager can't find the specified secret.");
    if (secret.deleted_at !== null && !deleted) {
      throw invalidRequest(
        "You can't perform this operation on the secret because it was marked for deletion.",
      );
    }
    return secret;
  };

  const create = (input: Parameters<AwsOperation>[0]) => {
    const { Name, Description, KmsKeyId, Tags = [], ClientRequestToken } = input;
    checkName(Name);
    const value = secretValueOf(input);
    const id = versionIdOf(ClientRequestToken);
    store.purge(now());
    const existing = store.named(Name);
    if (existing) return createAgain(existing, id, value);
    const secret: Secret = {
      arn: `arn:aws:secretsmanager:${region}:${accountId}:secret:${Name}-${arnSuffix()}`,
      name: Name,
      description: Description ?? null,
      kms_key_id: KmsKeyId ?? null,
      tags: JSON.stringify(Tags),
      created_at: now(),
      changed_at: now(),
      accessed_at: null,
      deleted_at: null,
      purge_at: null,
    };
    store.insert(secret);
    if (!value) return identity(secret);
    addVersion(store, secret, id, value, [CURRENT], now());
    return { ...identity(secret), VersionId: id };
  };

  const createAgain = (secret: Secret, id: string, value: ReturnType<typeof secretValueOf>) => {
    if (secret.deleted_at !== null) {
      throw invalidRequest(
        "You can't create this secret because a secret with this name is already scheduled for deletion.",
      );
    }
    const version = store.version(secret, id);
    if (version && version.text === value?.text && version.binary === value?.binary) {
      return { ...identity(secret), VersionId: id };
    }
    throw resourceExists(`The operation failed because the secret ${secret.name} already exists.`);
  };

  const operations: Record<string, AwsOperation> = {
    CreateSecret: (input) => atomically(state, () => create(input)),

    GetSecretValue({ SecretId, VersionId, VersionStage }) {
      const secret = find(SecretId);
      const version = findVersion(store, secret, VersionId, VersionStage);
      store.update(secret, { accessed_at: now() - (now() % DAY_MS) });
      return {
        ...identity(secret),
        VersionId: version.id,
        ...(version.text === null
          ? { SecretBinary: version.binary }
          : { SecretString: version.text }),
        VersionStages: stagesOf(version),
        CreatedDate: seconds(version.created_at),
      };
    },

    PutSecretValue(input) {
      const secret = find(input.SecretId);
      const value = secretValueOf(input);
      if (!value) throw invalidRequest('You must provide either SecretString or SecretBinary.');
      const id = versionIdOf(input.ClientRequestToken);
      const asked: readonly string[] = input.VersionStages ?? [CURRENT];
      if (asked.length === 0 || asked.length > 20) {
        throw invalidParameter('VersionStages must have 1 to 20 labels.');
      }
      const stages = atomically(state, () => addVersion(store, secret, id, value, asked, now()));
      return { ...identity(secret), VersionId: id, VersionStages: stages };
    },

    UpdateSecret(input) {
      const secret = find(input.SecretId);
      const value = secretValueOf(input);
      const id = versionIdOf(input.ClientRequestToken);
      return atomically(state, () => {
        store.update(secret, {
          ...(input.Description !== undefined && { description: input.Description }),
          ...(input.KmsKeyId !== undefined && { kms_key_id: input.KmsKeyId }),
          changed_at: now(),
        });
        if (!value) return identity(secret);
        addVersion(store, secret, id, value, [CURRENT], now());
        return { ...identity(secret), VersionId: id };
      });
    },

    DescribeSecret: ({ SecretId }) => describe(store, find(SecretId, { deleted: true })),

    ListSecrets(input) {
      store.purge(now());
      const { secrets, nextToken } = listSecrets(store, input);
      return {
        SecretList: secrets.map((secret) => listed(store, secret)),
        ...(nextToken !== undefined && { NextToken: nextToken }),
      };
    },

    DeleteSecret({ SecretId, RecoveryWindowInDays, ForceDeleteWithoutRecovery = false }) {
      const days = recoveryDays(RecoveryWindowInDays, ForceDeleteWithoutRecovery);
      if (ForceDeleteWithoutRecovery) return deleteAtOnce(SecretId);
      const secret = find(SecretId);
      const purgeAt = now() + days * DAY_MS;
      store.update(secret, { deleted_at: now(), purge_at: purgeAt });
      return { ...identity(secret), DeletionDate: seconds(purgeAt) };
    },

    RestoreSecret({ SecretId }) {
      const secret = find(SecretId, { deleted: true });
      store.update(secret, { deleted_at: null, purge_at: null });
      return identity(secret);
    },
  };

  /** Deleting by force what is not there succeeds. */
  function deleteAtOnce(secretId: unknown): object {
    store.purge(now());
    const id = String(secretId ?? '');
    const secret = id.startsWith('arn:') ? store.ofArn(id) : store.named(id);
    if (secret) store.delete(secret);
    const who = secret ? identity(secret) : { Name: id };
    return { ...who, DeletionDate: seconds(now()) };
  }

  return {
    targetPrefixes: ['secretsmanager'],
    jsonVersion: '1.1',
    operations,
    async close() {},
  };
}

const seconds = (time: number): number => time / 1000;

const identity = (secret: Secret) => ({ ARN: secret.arn, Name: secret.name });

const SUFFIX_LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function arnSuffix(): string {
  const letters = Array.from(
    randomBytes(6),
    (byte) => SUFFIX_LETTERS[byte % SUFFIX_LETTERS.length],
  );
  return letters.join('');
}

function checkName(name: unknown): asserts name is string {
  if (typeof name === 'string' && /^[\w/+=.@-]{1,512}$/.test(name)) return;
  throw invalidParameter(
    'Invalid name. Must be a valid name containing alphanumeric characters, or any of the following: -/_+=.@!',
  );
}

function recoveryDays(days: unknown, force: boolean): number {
  if (days === undefined) return 30;
  if (force) {
    throw invalidParameter(
      "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.",
    );
  }
  if (typeof days === 'number' && days >= 7 && days <= 30) return days;
  throw invalidParameter(
    'The RecoveryWindowInDays value must be between 7 and 30 days (inclusive).',
  );
}

function describe(store: SecretStore, secret: Secret): object {
  const labelled = store
    .versions(secret)
    .map((version) => [version.id, stagesOf(version)] as const)
    .filter(([, stages]) => stages.length > 0);
  return { ...common(secret), VersionIdsToStages: Object.fromEntries(labelled) };
}

function listed(store: SecretStore, secret: Secret): object {
  const { VersionIdsToStages, ...rest } = describe(store, secret) as Record<string, unknown>;
  return { ...rest, SecretVersionsToStages: VersionIdsToStages };
}

function common(secret: Secret): object {
  const tags = tagsOf(secret);
  return {
    ...identity(secret),
    ...(secret.description !== null && { Description: secret.description }),
    ...(secret.kms_key_id !== null && { KmsKeyId: secret.kms_key_id }),
    ...(tags.length > 0 && { Tags: tags }),
    ...(secret.deleted_at !== null && { DeletedDate: seconds(secret.deleted_at) }),
    ...(secret.accessed_at !== null && { LastAccessedDate: seconds(secret.accessed_at) }),
    LastChangedDate: seconds(secret.changed_at),
    CreatedDate: seconds(secret.created_at),
  };
}
