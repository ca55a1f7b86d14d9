import { AsyncLocalStorage } from 'node:async_hooks';
import { Agenda, type Appointment } from './agenda.ts';
import { Random } from './random.ts';
import { Trace } from './trace.ts';

/** Somebody whose code runs in the simulation: one Lambda invocation, one host, one client. */
export interface Actor {
  readonly name: string;
  /** How far its clock is ahead. */
  readonly skewMs: number;
  dead: boolean;
  /** Told once, when it is crashed. */
  readonly atDeath: (() => void)[];
}

/** Where virtual time begins. */
export const EPOCH_MS = Date.UTC(2026, 0, 5, 12, 0, 0);

/** The real ones, taken before anything is replaced. */
const realSetImmediate = setImmediate;
/** Appointments handled per turn of the real event loop; Node empties its microtasks after each. */
const BATCH = 64;

/**
 * Virtual time and who acts in it. One thing happens at a time: an appointment runs, then everything that follows from
 * it without waiting (microtasks), then the next appointment. A crashed actor only ever waits for appointments, and
 * those are dropped: so none of its code runs again.
 */
export class Kernel {
  static #active: Kernel | undefined;
  readonly random: Random;
  readonly trace: Trace;
  readonly #agenda = new Agenda();
  readonly #actors = new AsyncLocalStorage<Actor | undefined>();
  readonly #order: Random;
  readonly #faults: unknown[] = [];
  #now = 0;
  #count = 0;
  #actorCount = 0;

  constructor(seed: number, options: { keepTrace: boolean }) {
    this.random = new Random(seed, 1);
    this.#order = new Random(seed, 2);
    this.trace = new Trace({ keep: options.keepTrace });
  }

  /** The kernel that has the process's timers now. */
  static get active(): Kernel | undefined {
    return Kernel.#active;
  }

  /** Milliseconds since the simulation began, with fractions. */
  get now(): number {
    return this.#now;
  }

  /** The time of day for whoever asks: actors have clocks of their own. */
  timeOfDay(): number {
    return Math.floor(EPOCH_MS + this.#now + (this.actor?.skewMs ?? 0));
  }

  get actor(): Actor | undefined {
    return this.#actors.getStore();
  }

  get steps(): number {
    return this.#count;
  }

  /** Has `run` happen after a while, outside of any actor. */
  after(delayMs: number, run: () => unknown): Appointment {
    const appointment: Appointment = {
      at: this.#now + Math.max(0, delayMs),
      rank: this.#order.next(),
      order: this.#count,
      run,
      cancelled: false,
    };
    this.#count += 1;
    this.#agenda.add(appointment);
    return appointment;
  }

  /** The same for an actor: within it, and not at all if it is dead by then. */
  afterFor(actor: Actor, delayMs: number, run: () => unknown): Appointment {
    return this.after(delayMs, () => {
      if (!actor.dead) this.#actors.run(actor, run);
    });
  }

  newActor(kind: string, options: { skewMs?: number } = {}): Actor {
    this.#actorCount += 1;
    return {
      name: `${kind}#${this.#actorCount}`,
      skewMs: options.skewMs ?? 0,
      dead: false,
      atDeath: [],
    };
  }

  /** Runs an actor's code from its beginning; `ended` is told outside of it, never after a crash. */
  start<T>(
    actor: Actor,
    main: () => Promise<T>,
    ended: (outcome: { value: T } | { error: unknown }) => void = () => undefined,
  ): void {
    const end = (outcome: { value: T } | { error: unknown }) => {
      this.after(0, () => {
        if (actor.dead) return;
        actor.dead = true;
        ended(outcome);
      });
    };
    this.#actors.run(actor, () => {
      main().then(
        (value) => end({ value }),
        (error: unknown) => end({ error }),
      );
    });
  }

  crash(actor: Actor): void {
    if (actor.dead) return;
    actor.dead = true;
    for (const tell of actor.atDeath.splice(0)) tell();
  }

  /** A fault of the code under test that nobody caught; it ends the simulation as a violation. */
  fault(error: unknown): void {
    this.#faults.push(error);
  }

  note(line: string): void {
    this.trace.add(`${this.#now.toFixed(3).padStart(12)} ${line}`);
  }

  /** Lets time pass until `done` says so, nothing is left to happen, or `untilMs` is reached. */
  async run(done: () => boolean, untilMs: number): Promise<'done' | 'idle' | 'late'> {
    if (Kernel.#active) throw new Error('another simulation has the timers of this process');
    Kernel.#active = this;
    try {
      return await new Promise((resolve, reject) => {
        let left = 0;
        let stopped = false;
        const turn = () => {
          left = BATCH;
          for (let index = 0; index < BATCH; index += 1) realSetImmediate(step);
        };
        const step = () => {
          left -= 1;
          if (stopped) return;
          try {
            const ended = this.#step(done, untilMs);
            if (ended) {
              stopped = true;
              resolve(ended);
            } else if (left === 0) turn();
          } catch (error) {
            stopped = true;
            reject(error);
          }
        };
        turn();
      });
    } finally {
      Kernel.#active = undefined;
    }
  }

  #step(done: () => boolean, untilMs: number): 'done' | 'idle' | 'late' | undefined {
    if (this.#faults.length > 0) throw this.#faults[0];
    if (done()) return 'done';
    const next = this.#agenda.take();
    if (!next) return 'idle';
    if (next.at > untilMs) return 'late';
    this.#now = next.at;
    next.run();
    return undefined;
  }
}
