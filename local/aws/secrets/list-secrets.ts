import { AwsError } from '../kit/aws-error.ts';
import type { Secret, SecretStore } from './secret-store.ts';
import { invalidParameter } from './versions.ts';

export interface Tag {
  readonly Key: string;
  readonly Value?: string;
}

interface Filter {
  readonly Key: string;
  readonly Values: readonly string[];
}

/** A page of secrets and where the next one begins. */
export interface SecretPage {
  readonly secrets: readonly Secret[];
  readonly nextToken: string | undefined;
}

export interface ListRequest {
  readonly Filters?: readonly Filter[];
  readonly MaxResults?: number;
  readonly NextToken?: string;
  readonly IncludePlannedDeletion?: boolean;
  readonly SortOrder?: 'asc' | 'desc';
}

export const tagsOf = (secret: Secret): readonly Tag[] => JSON.parse(secret.tags);

/** Lists secrets, newest first unless asked otherwise; every filter has to match. */
export function listSecrets(store: SecretStore, request: ListRequest): SecretPage {
  const limit = request.MaxResults ?? 100;
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 100)) {
    throw invalidParameter('MaxResults must be between 1 and 100.');
  }
  const filters = (request.Filters ?? []).map(matcher);
  const found = store
    .all()
    .filter((secret) => secret.deleted_at === null || request.IncludePlannedDeletion === true)
    .filter((secret) => filters.every((matches) => matches(secret)));
  if (request.SortOrder !== 'asc') found.reverse();
  const start = startOf(found, request.NextToken);
  const secrets = found.slice(start, start + limit);
  const last = secrets.at(-1);
  const more = last && start + limit < found.length;
  return {
    secrets,
    nextToken: more ? Buffer.from(last.arn).toString('base64url') : undefined,
  };
}

function startOf(found: readonly Secret[], token: string | undefined): number {
  if (token === undefined) return 0;
  const arn = Buffer.from(token, 'base64url').toString();
  const index = found.findIndex((secret) => secret.arn === arn);
  if (index < 0) throw new AwsError('InvalidNextTokenException', 'The NextToken is invalid.');
  return index + 1;
}

interface Field {
  readonly texts: (secret: Secret) => readonly string[];
  readonly ignoreCase?: true;
}

const words = (secret: Secret): readonly string[] => (secret.description ?? '').split(/\s+/);

/** Every kind matches by prefix; descriptions and the search over everything ignore case. */
const FIELDS: Readonly<Record<string, Field>> = {
  name: { texts: (secret) => [secret.name] },
  description: { texts: words, ignoreCase: true },
  'tag-key': { texts: (secret) => tagsOf(secret).map((tag) => tag.Key) },
  'tag-value': { texts: (secret) => tagsOf(secret).map((tag) => tag.Value ?? '') },
  all: {
    texts: (secret) => [
      secret.name,
      ...words(secret),
      ...tagsOf(secret).flatMap((tag) => [tag.Key, tag.Value ?? '']),
    ],
    ignoreCase: true,
  },
};

function matcher({ Key, Values }: Filter): (secret: Secret) => boolean {
  const field = FIELDS[Key];
  if (!field) throw invalidParameter(`Invalid filter key: ${Key}`);
  const fold = (text: string) => (field.ignoreCase ? text.toLowerCase() : text);
  return (secret) => {
    const texts = field.texts(secret).map(fold);
    return Values.some((value) => {
      // A value that begins with `!` asks for those that do not match.
      const negated = value.startsWith('!');
      const prefix = fold(negated ? value.slice(1) : value);
      return texts.some((text) => text.startsWith(prefix)) !== negated;
    });
  };
}
