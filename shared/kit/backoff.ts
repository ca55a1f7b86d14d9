/**
 * Exponential backoff with full jitter: a random wait between 0 and `baseMs * 2^attempt`, never above `maxMs`.
 * `attempt` counts from 0. `random` is injectable, so that a simulation can replay.
 */
export function backoffMs(
  attempt: number,
  options: { baseMs: number; maxMs: number },
  random: () => number = Math.random,
): number {
  return Math.round(
    random() * Math.min(options.maxMs, options.baseMs * 2 ** Math.min(attempt, 30)),
  );
}
