import type { TimerClock } from '#shared/kit/timer-clock.ts';

export { systemTimerClock as systemClientClock } from '#shared/kit/timer-clock.ts';

/** The client's own name for what moves its time. */
export type ClientClock = TimerClock;

/** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
export function sleep(clock: ClientClock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      takeBack();
      reject(signal?.reason);
    };
    const takeBack = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** As `work`, but rejects with `onLate()` when that takes longer than `ms`. The work itself goes on. */
export function within<T>(
  clock: ClientClock,
  ms: number,
  work: Promise<T>,
  onLate: () => Error,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const takeBack = clock.after(ms, () => reject(onLate()));
    work.then(resolve, reject).finally(takeBack);
  });
}
