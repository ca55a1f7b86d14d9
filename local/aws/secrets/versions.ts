import { randomUUID } from 'node:crypto';
import { AwsError } from '../kit/aws-error.ts';
import type { Secret, SecretStore, SecretVersion } from './secret-store.ts';

/** A value as requests carry it: text, or bytes in base64; never both. */
export interface SecretValue {
  readonly text: string | null;
  readonly binary: string | null;
}

export const CURRENT = 'AWSCURRENT';
export const PREVIOUS = 'AWSPREVIOUS';

const MAX_VALUE_BYTES = 65_536;
/** The service drops versions without labels when a secret has more than about a hundred. */
const KEPT_VERSIONS = 100;

export const invalidParameter = (message: string): AwsError =>
  new AwsError('InvalidParameterException', message);

export const invalidRequest = (message: string): AwsError =>
  new AwsError('InvalidRequestException', message);

export const resourceExists = (message: string): AwsError =>
  new AwsError('ResourceExistsException', message);

export const resourceNotFound = (message: string): AwsError =>
  new AwsError('ResourceNotFoundException', message);

export const stagesOf = (version: SecretVersion): readonly string[] => JSON.parse(version.stages);

/** Reads the value of a request; undefined when it has none. */
export function secretValueOf(input: {
  SecretString?: unknown;
  SecretBinary?: unknown;
}): SecretValue | undefined {
  const { SecretString: text, SecretBinary: binary } = input;
  if (text !== undefined && binary !== undefined) {
    throw invalidParameter(
      "You can't specify both a binary secret value and a string secret value in the same secret.",
    );
  }
  if (text === undefined && binary === undefined) return undefined;
  const bytes =
    text === undefined
      ? Buffer.from(String(binary), 'base64').length
      : Buffer.byteLength(String(text));
  if (bytes === 0 || bytes > MAX_VALUE_BYTES) {
    throw invalidParameter(`The secret value must be 1 to ${MAX_VALUE_BYTES} bytes long.`);
  }
  return text === undefined
    ? { text: null, binary: String(binary) }
    : { text: String(text), binary: null };
}

/** The version id of a request: its idempotency token, or a new one. */
export function versionIdOf(token: unknown): string {
  if (token === undefined) return randomUUID();
  if (typeof token === 'string' && token.length >= 32 && token.length <= 64) return token;
  throw invalidParameter('ClientRequestToken must be 32-64 characters long.');
}

/**
 * Adds a version, or finds the one that the same token made: repeating a request changes nothing, the same
 * token with another value is refused. `stages` move to the new version; the one that loses `AWSCURRENT`
 * becomes `AWSPREVIOUS`.
 */
export function addVersion(
  store: SecretStore,
  secret: Secret,
  id: string,
  value: SecretValue,
  stages: readonly string[],
  now: number,
): readonly string[] {
  const existing = store.version(secret, id);
  if (existing) {
    if (existing.text === value.text && existing.binary === value.binary) {
      return stagesOf(existing);
    }
    throw resourceExists(
      "You can't use ClientRequestToken again with a different secret value, because a version with that token already exists.",
    );
  }
  // The first version is the current one, whatever labels were asked for.
  const first = store.versions(secret).length === 0;
  const labels = first && !stages.includes(CURRENT) ? [...stages, CURRENT] : stages;
  store.insertVersion({ arn: secret.arn, id, ...value, stages: '[]', created_at: now });
  moveLabels(store, secret, id, labels);
  dropOldVersions(store, secret);
  store.update(secret, { changed_at: now });
  return labels;
}

function moveLabels(
  store: SecretStore,
  secret: Secret,
  id: string,
  labels: readonly string[],
): void {
  const versions = store.versions(secret);
  const previous = labels.includes(CURRENT)
    ? versions.find((version) => stagesOf(version).includes(CURRENT))
    : undefined;
  for (const version of versions) {
    const before = stagesOf(version);
    const isNew = version.id === id;
    const taken = previous ? [...labels, PREVIOUS] : labels;
    const after = isNew ? [...labels] : before.filter((stage) => !taken.includes(stage));
    if (version.id === previous?.id) after.push(PREVIOUS);
    if (isNew || after.join() !== before.join()) store.label(version, after);
  }
}

function dropOldVersions(store: SecretStore, secret: Secret): void {
  for (const version of store.versions(secret).slice(KEPT_VERSIONS)) {
    if (stagesOf(version).length === 0) store.deleteVersion(version);
  }
}

/** The version a read asks for by id, by label, by both, or the current one. */
export function findVersion(
  store: SecretStore,
  secret: Secret,
  id: string | undefined,
  stage: string | undefined,
): SecretVersion {
  const missing = (what: string) =>
    resourceNotFound(`Secrets Manager can't find the specified secret value for ${what}`);
  if (id !== undefined) {
    const version = store.version(secret, id);
    if (!version) throw missing(`VersionId: ${id}`);
    if (stage !== undefined && !stagesOf(version).includes(stage)) {
      throw invalidRequest(
        'You provided a VersionStage that is not associated to the provided VersionId.',
      );
    }
    return version;
  }
  const wanted = stage ?? CURRENT;
  const version = store.versions(secret).find((each) => stagesOf(each).includes(wanted));
  if (!version) throw missing(`staging label: ${wanted}`);
  return version;
}
