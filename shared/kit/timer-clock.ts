import { type Clock, systemClock } from './clock.ts';

/** The time of day and timers. Handed in, so that a test moves time instead of waiting for it. */
export interface TimerClock extends Clock {
  /** Calls back once after `ms`; the returned function takes it back. */
  after(ms: number, callback: () => void): () => void;
}

export const systemTimerClock: TimerClock = {
  now: () => systemClock.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
