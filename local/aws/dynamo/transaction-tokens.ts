import { createHash } from 'node:crypto';
import { AwsError } from '../kit/aws-error.ts';
import type { StateDatabase } from '../kit/state-database.ts';
import { validationError } from './dynamo-error.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS dynamo_transaction_token (
    token TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    committed_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS dynamo_transaction_token_by_age
    ON dynamo_transaction_token (committed_at);
`;

/** How long AWS remembers a ClientRequestToken. */
const TOKEN_LIFETIME_MS = 10 * 60 * 1000;

interface TransactionToken {
  readonly token: string;
  readonly digest: string;
}

/** The client request tokens of transactions committed in the last ten minutes. */
export interface TransactionTokens {
  /**
   * What to do with a request that carries `token`: nothing (`repeated`: it was committed before), or run it
   * and, in the same SQLite transaction, remember what is returned. Throws
   * IdempotentParameterMismatchException when the token stood for other operations.
   */
  check(token: unknown, operations: unknown): TransactionToken | 'repeated' | undefined;
  remember(token: TransactionToken): void;
  forgetOld(): void;
}

export function openTransactionTokens(
  database: StateDatabase,
  now: () => number,
): TransactionTokens {
  database.exec(SCHEMA);
  const sql = {
    find: database.prepare(
      'SELECT digest FROM dynamo_transaction_token WHERE token = ? AND committed_at > ?',
    ),
    put: database.prepare('INSERT OR REPLACE INTO dynamo_transaction_token VALUES (?, ?, ?)'),
    forget: database.prepare('DELETE FROM dynamo_transaction_token WHERE committed_at <= ?'),
  };
  return {
    check(token, operations) {
      if (token === undefined || token === null) return undefined;
      if (typeof token !== 'string' || token.length < 1 || token.length > 36) {
        throw validationError(
          "1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: Member must have length between 1 and 36",
        );
      }
      const digest = digestOf(operations);
      const known = sql.find.get(token, now() - TOKEN_LIFETIME_MS);
      if (!known) return { token, digest };
      if (known.digest === digest) return 'repeated';
      throw new AwsError(
        'IdempotentParameterMismatchException',
        'Request parameters do not match the parameters of an earlier request with the same client request token',
      );
    },
    remember: ({ token, digest }) => void sql.put.run(token, digest, now()),
    forgetOld: () => void sql.forget.run(now() - TOKEN_LIFETIME_MS),
  };
}

/** The same for operations that differ only in the order of their fields. */
function digestOf(operations: unknown): string {
  const text = JSON.stringify(operations, (_name, value) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(text).digest('base64');
}
