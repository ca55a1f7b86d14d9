import { ERROR_CLASSES, type ExecutionError } from '#shared/contracts/index.ts';
import { assertNever } from '#shared/kit/assert-never.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import type { RunHead } from './run-head.ts';

/** ORC-7: by class, within the attempt limit, and never a second time what may have had effects unless it may repeat. */
export function mayRetry(
  head: Pick<RunHead, 'attempt' | 'maxAttempts' | 'repeatable'>,
  error: ExecutionError,
): boolean {
  if (head.attempt >= head.maxAttempts) return false;
  if (error.sideEffects === 'maybe' && !head.repeatable) return false;
  const { retry } = ERROR_CLASSES[error.class];
  switch (retry) {
    case 'never':
      return false;
    case 'policy':
    case 'after_delay':
    case 'conditional':
      return true;
    case 'per_task':
      return head.repeatable;
    default:
      return assertNever(retry, 'retry rule');
  }
}

const MIN_DELAY_MS = 500;
const MAX_DELAY_MS = 5 * 60_000;
/** What is short of something needs time to have it again: a rate limit, capacity, a quota of a provider. */
const LONGER_FOR_RESOURCES = 5;

/**
 * How long until the next attempt: doubles with each one, with jitter, longer for errors of the class that asks for a
 * delay. `attempt` is the one that ended.
 */
export function retryDelayMs(error: ExecutionError, attempt: number, baseMs: number): number {
  const { retry } = ERROR_CLASSES[error.class];
  const scaled = retry === 'after_delay' ? baseMs * LONGER_FOR_RESOURCES : baseMs;
  return Math.max(MIN_DELAY_MS, backoffMs(attempt, { baseMs: scaled, maxMs: MAX_DELAY_MS }));
}
