import { setTimeout as delay } from 'node:timers/promises';
import { type Clients, hasEnded } from './clients.ts';
import type { SeededRandom } from './seeded-random.ts';
import { runIdOf, type TrackedRun } from './tracked-run.ts';
import type { Witness } from './witness.ts';

export interface LoadOptions {
  readonly runs: readonly TrackedRun[];
  /** So many of them are not posted at the start, but when somebody asks for a fresh one. */
  readonly heldBack: number;
  readonly clients: Clients;
  readonly witness: Witness;
  readonly random: SeededRandom;
  /** Streams open at one time. */
  readonly followers: number;
}

const WATCH_EVERY_MS = 100;
/** Share of the keys that two clients post at the same time. */
const TWICE = 0.25;

/** The runs of the load on their way: each is posted, followed to its end, and cancelled if its plan says so. */
export class Load {
  readonly #options: LoadOptions;
  readonly #heldBack: TrackedRun[];
  /** Everything that is to be done for runs; it ends by itself once the platform does its part. */
  readonly #work: Promise<void>[] = [];
  readonly #toFollow: TrackedRun[] = [];

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#heldBack = options.runs.slice(options.runs.length - options.heldBack);
  }

  /** Posts all that is not held back, at once, and starts following; resolves when all of it was accepted. */
  async start(): Promise<void> {
    const { runs, heldBack, followers } = this.#options;
    for (let n = 0; n < followers; n += 1) this.#work.push(this.#follower());
    await Promise.all(runs.slice(0, runs.length - heldBack).map((run) => this.#post(run)));
  }

  /** Posts some of the runs held back; resolves when the first was accepted, or at once when none are left. */
  async postHeldBack(count: number): Promise<void> {
    const posts = this.#heldBack.splice(0, count).map((run) => this.#post(run));
    this.#work.push(...posts);
    if (posts.length > 0) await Promise.race(posts);
  }

  /** Resolves when every run was accepted, followed to its final event, and cancelled where planned. */
  async finish(): Promise<void> {
    await this.postHeldBack(this.#heldBack.length);
    // Work makes work: a run that is accepted may have to be cancelled.
    let seen: number;
    do {
      seen = this.#work.length;
      await Promise.all(this.#work);
    } while (this.#work.length > seen);
  }

  get endedShare(): number {
    const { runs } = this.#options;
    return runs.filter(hasEnded).length / runs.length;
  }

  async #post(run: TrackedRun): Promise<void> {
    const { clients, random } = this.#options;
    const posts = random.chance(TWICE)
      ? [clients.post(run), clients.post(run)]
      : [clients.post(run)];
    await Promise.race(posts);
    this.#toFollow.push(run);
    this.#work.push(...posts);
    if (run.plan.cancel) this.#work.push(this.#cancel(run));
  }

  async #follower(): Promise<void> {
    const { runs, clients } = this.#options;
    while (runs.some((run) => !run.taken)) {
      const run = this.#toFollow.shift();
      if (!run) {
        await delay(WATCH_EVERY_MS);
        continue;
      }
      run.taken = true;
      await clients.follow(run);
    }
  }

  async #cancel(run: TrackedRun): Promise<void> {
    const { clients, witness } = this.#options;
    const { from, afterMs } = run.plan.cancel ?? { from: 'acceptance', afterMs: 0 };
    const runId = runIdOf(run) ?? '';
    while (from === 'start' && !hasEnded(run) && witness.livesOf(runId).length === 0) {
      await delay(WATCH_EVERY_MS);
    }
    await delay(afterMs);
    await clients.cancel(run);
  }
}
