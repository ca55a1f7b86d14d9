import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { PlatformError } from '#shared/contracts/index.ts';

const THROTTLES = [
  'ThrottlingException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'TransactionConflictException',
  'TransactionInProgressException',
];

/** B86, B97: what passes becomes `throttled` (503, repeat later); everything else stays as it is. */
export function toTableError(error: unknown): unknown {
  const name = error instanceof Error ? error.name : '';
  if (THROTTLES.includes(name) || error instanceof TransactionCanceledException) {
    return new PlatformError('throttled', 'the ledger is busy; repeat after a moment', {
      sideEffects: 'maybe',
      cause: error,
    });
  }
  return error;
}
