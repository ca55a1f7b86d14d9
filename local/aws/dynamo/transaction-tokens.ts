import { createHash } from 'node:crypto';
import { AwsError } from '../kit/aws-error.ts';
import { validationError } from './dynamo-error.ts';
import type { TokenStore } from './storage.ts';

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
   * and, in the same storage transaction, remember what is returned. Throws
   * IdempotentParameterMismatchException when the token stood for other operations.
   */
  check(token: unknown, operations: unknown): TransactionToken | 'repeated' | undefined;
  remember(token: TransactionToken): void;
  forgetOld(): void;
}

export function openTransactionTokens(store: TokenStore, now: () => number): TransactionTokens {
  return {
    check(token, operations) {
      if (token === undefined || token === null) return undefined;
      if (typeof token !== 'string' || token.length < 1 || token.length > 36) {
        throw validationError(
          "1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: Member must have length between 1 and 36",
        );
      }
      const digest = digestOf(operations);
      const known = store.find(token, now() - TOKEN_LIFETIME_MS);
      if (known === undefined) return { token, digest };
      if (known === digest) return 'repeated';
      throw new AwsError(
        'IdempotentParameterMismatchException',
        'Request parameters do not match the parameters of an earlier request with the same client request token',
      );
    },
    remember: ({ token, digest }) => store.put(token, digest, now()),
    forgetOld: () => store.forgetUntil(now() - TOKEN_LIFETIME_MS),
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
