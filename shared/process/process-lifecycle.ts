import { isoTime } from '#shared/kit/clock.ts';

/**
 * HST-1. `start`: nothing exists yet · `ready`: the process exists · `running`: its sandbox is attached, so
 * that a signal finds it, and it has its input · `cancel_requested`/`timeout`: it was told to stop ·
 * `terminating`: the process has ended or its limit is reached, and its tree is being removed ·
 * `exited`: verified, nothing more will happen.
 */
export const PROCESS_STATES = [
  'start',
  'ready',
  'running',
  'cancel_requested',
  'timeout',
  'terminating',
  'exited',
] as const;
export type ProcessState = (typeof PROCESS_STATES)[number];

/** The only table of transitions. A cancel before `ready` ends the process before it began. */
export const PROCESS_TRANSITIONS = {
  start: ['ready', 'cancel_requested', 'timeout', 'terminating'],
  ready: ['running', 'cancel_requested', 'timeout', 'terminating'],
  running: ['cancel_requested', 'timeout', 'terminating'],
  cancel_requested: ['terminating'],
  timeout: ['terminating'],
  terminating: ['exited'],
  exited: [],
} as const satisfies Record<ProcessState, readonly ProcessState[]>;

export interface ProcessStateChange {
  readonly state: ProcessState;
  /** ISO time. */
  readonly at: string;
  /** Since `start`, by a clock that nobody can set. */
  readonly elapsedMs: number;
}

export interface ProcessTime {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that only grow. */
  monotonic(): number;
}

export const systemTime: ProcessTime = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** The current state and how it came about. */
export class ProcessLifecycle {
  readonly #time: ProcessTime;
  readonly #observe: (change: ProcessStateChange) => void;
  readonly #startedAt: number;
  readonly #history: ProcessStateChange[] = [];

  constructor(time: ProcessTime, observe: (change: ProcessStateChange) => void) {
    this.#time = time;
    this.#observe = observe;
    this.#startedAt = time.monotonic();
    this.#record('start');
  }

  get state(): ProcessState {
    return this.#history.at(-1)?.state ?? 'start';
  }

  get history(): readonly ProcessStateChange[] {
    return this.#history;
  }

  can(next: ProcessState): boolean {
    const allowed: readonly ProcessState[] = PROCESS_TRANSITIONS[this.state];
    return allowed.includes(next);
  }

  /** @throws Error when the table does not allow the step: a fault of the supervisor. */
  to(next: ProcessState): void {
    if (!this.can(next)) throw new Error(`process cannot go from ${this.state} to ${next}`);
    this.#record(next);
  }

  #record(state: ProcessState): void {
    const change = {
      state,
      at: isoTime(this.#time.now()),
      elapsedMs: this.#time.monotonic() - this.#startedAt,
    };
    this.#history.push(change);
    this.#observe(change);
  }
}
