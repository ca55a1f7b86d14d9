import type { ClientClock } from '#client/client-clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

interface Waiter {
  readonly matches: (dueInMs: number) => boolean;
  readonly resolve: () => void;
}

/**
 * A clock that stands still until a test moves it. Timers of 0 ms fire by themselves, so that a client whose jitter is
 * 0 never waits; every other one fires only when the test has advanced to it.
 */
export class ManualClock implements ClientClock {
  #nowMs: number;
  readonly #timers = new Set<Timer>();
  readonly #waiters = new Set<Waiter>();

  constructor(nowMs = Date.parse('2026-11-30T12:00:00.000Z')) {
    this.#nowMs = nowMs;
  }

  now(): number {
    return this.#nowMs;
  }

  after(ms: number, callback: () => void): () => void {
    if (ms === 0) {
      const immediate = setImmediate(callback);
      return () => clearImmediate(immediate);
    }
    const timer = { dueMs: this.#nowMs + ms, callback };
    this.#timers.add(timer);
    for (const waiter of this.#waiters) {
      if (waiter.matches(ms)) {
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
    }
    return () => this.#timers.delete(timer);
  }

  /** Fires everything due by then, in the order of time. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = [...this.#timers].filter((timer) => timer.dueMs <= this.#nowMs);
    for (const timer of due.sort((a, b) => a.dueMs - b.dueMs)) {
      if (this.#timers.delete(timer)) timer.callback();
    }
  }

  /** Resolves once a timer that is due in exactly `ms` from now is set, or at once when one is. */
  timerOf(ms: number): Promise<void> {
    const isSet = [...this.#timers].some((timer) => timer.dueMs === this.#nowMs + ms);
    if (isSet) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.add({ matches: (dueInMs) => dueInMs === ms, resolve });
    });
  }

  get pendingTimers(): number {
    return this.#timers.size;
  }
}
