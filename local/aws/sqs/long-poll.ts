/** One receiver that waits: `attempt` gives its answer, or undefined while there is none. */
interface Waiter {
  readonly attempt: () => boolean;
  readonly giveUp: () => void;
}

export interface LongPollOptions {
  /** When the first message of a queue shows itself that is hidden at `time`; both in milliseconds since 1970. */
  readonly nextVisibleAfter: (queue: string, time: number) => number | undefined;
  readonly now: () => number;
}

/**
 * Receivers waiting for messages, served in the order they came. Nothing polls: whoever makes a message
 * visible calls {@link LongPolls.wake}, and one timer per queue waits for the next one to become visible.
 */
export class LongPolls {
  readonly #options: LongPollOptions;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(options: LongPollOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the first answer of `attempt`, which is asked at once and whenever there may be one, or
   * undefined after `waitMs`, an abort or {@link close}.
   */
  wait<T>(
    queue: string,
    waitMs: number,
    signal: AbortSignal,
    attempt: () => T | undefined,
  ): Promise<T | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const askedAt = this.#options.now();
    const waiters = this.#waiters.get(queue) ?? new Set();
    this.#waiters.set(queue, waiters);
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        clearTimeout(patience);
        signal.removeEventListener('abort', waiter.giveUp);
        waiters.delete(waiter);
        settle();
      };
      const waiter: Waiter = {
        attempt: () => {
          try {
            const answer = attempt();
            if (answer === undefined) return false;
            end(() => resolve(answer));
          } catch (error) {
            end(() => reject(error));
          }
          return true;
        },
        giveUp: () => end(() => resolve(undefined)),
      };
      const patience = setTimeout(waiter.giveUp, waitMs);
      signal.addEventListener('abort', waiter.giveUp);
      waiters.add(waiter);
      if (!waiter.attempt()) this.#arm(queue, askedAt);
    });
  }

  /** To be called after a message may have become visible, or will later. */
  wake(queue: string): void {
    const askedAt = this.#options.now();
    for (const waiter of this.#waiters.get(queue) ?? []) {
      if (!waiter.attempt()) break;
    }
    this.#arm(queue, askedAt);
  }

  close(): void {
    for (const waiters of this.#waiters.values()) {
      for (const waiter of [...waiters]) waiter.giveUp();
    }
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  /** `askedAt` is from before the last attempt: what shows itself after it has not been seen by anybody. */
  #arm(queue: string, askedAt: number): void {
    clearTimeout(this.#timers.get(queue));
    this.#timers.delete(queue);
    if (!this.#waiters.get(queue)?.size) return;
    const at = this.#options.nextVisibleAfter(queue, askedAt);
    if (at === undefined) return;
    const delayMs = Math.max(1, at - this.#options.now());
    this.#timers.set(
      queue,
      setTimeout(() => this.wake(queue), delayMs),
    );
  }
}
