import { setTimeout as delay } from 'node:timers/promises';
import type { FunctionError, LambdaInvoker } from './invoker.ts';

/** An event that a function did not take, with its last error. */
export interface DeadLetter {
  readonly functionName: string;
  readonly event: unknown;
  readonly attempts: number;
  readonly error: FunctionError;
}

export interface AsyncInvocationOptions {
  readonly invoker: LambdaInvoker;
  /** After the first attempt; 2 in Lambda. */
  readonly maxRetries?: number;
  /** Before the retry with this number, counted from 1. Lambda waits 1 and 2 minutes; here 1 and 2 seconds. */
  readonly retryDelayMs?: (retry: number) => number;
  readonly onDeadLetter: (letter: DeadLetter) => void | Promise<void>;
  /** Ends the waiting between retries. */
  readonly signal?: AbortSignal;
}

/**
 * Invokes a function as EventBridge does. Resolves when the function or the dead-letter callback took the event;
 * rejects when the callback fails or `signal` aborts, so that a caller which keeps the event until then loses
 * none.
 */
export async function invokeAsync(
  options: AsyncInvocationOptions,
  event: unknown,
): Promise<'delivered' | 'dead_lettered'> {
  const { invoker, maxRetries = 2, retryDelayMs = (retry) => retry * 1000, signal } = options;
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await invoker.invoke(event);
    if (outcome.status === 'ok') return 'delivered';
    if (attempt > maxRetries) {
      const { error } = outcome;
      await options.onDeadLetter({ functionName: invoker.name, event, attempts: attempt, error });
      return 'dead_lettered';
    }
    await delay(retryDelayMs(attempt), undefined, signal ? { signal } : {});
  }
}
