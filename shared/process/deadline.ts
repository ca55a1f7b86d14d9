/** Longest delay that `setTimeout` takes; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
  cancel(): void;
}

/**
 * Calls `onReached` once, `delayMs` from now by the monotonic clock. Long delays are waited for in parts.
 *
 * @throws RangeError for NaN, a negative or an infinite delay: as a timer they would fire at once.
 */
export function startDeadline(
  delayMs: number,
  onReached: () => void,
  monotonic: () => number = () => performance.now(),
): Deadline {
  if (!Number.isFinite(delayMs) || delayMs < 0) {
    throw new RangeError(`a delay must be a finite number of milliseconds, not ${delayMs}`);
  }
  const dueAt = monotonic() + delayMs;
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    const left = dueAt - monotonic();
    if (left <= 0) onReached();
    else timer = setTimeout(wait, Math.min(Math.ceil(left), LONGEST_TIMER_MS));
  };
  timer = setTimeout(wait, Math.min(Math.ceil(delayMs), LONGEST_TIMER_MS));
  return { cancel: () => clearTimeout(timer) };
}

/** Resolves after `ms`; used to look again at what the kernel does not announce. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    startDeadline(ms, resolve);
  });
}

/** True when `promise` settled within `ms`. */
export async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let deadline: Deadline | undefined;
  const late = new Promise<boolean>((resolve) => {
    deadline = startDeadline(ms, () => resolve(false));
  });
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    deadline?.cancel();
  }
}
