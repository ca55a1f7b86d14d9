import { setTimeout as delay } from 'node:timers/promises';
import { ApiError, isTransient, StreamError } from '#client/client-error.ts';
import { isTerminal } from '#shared/contracts/index.ts';
import { type RawFollowing, readConnection } from './raw-follower.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { Access } from './stack-keeper.ts';
import { runIdOf, type TrackedRun } from './tracked-run.ts';

/** What all clients of the load share. */
export interface ClientsOptions {
  readonly runs: readonly TrackedRun[];
  readonly accessFor: (tenantId: string) => Promise<Access>;
  readonly random: SeededRandom;
  /** Ends pollers and re-posters; posts and followers end with their work. */
  readonly stopped: AbortSignal;
}

export interface ClientCounts {
  /** Posts of a key that was accepted before, answered with its run. */
  repeatsAnswered: number;
  /** Posts of a known key with another body. */
  conflictsRefused: number;
  /** Requests that got no answer, or a fault that passed. */
  faults: number;
  /** Streams opened again behind the last event. */
  streamsResumed: number;
  polls: number;
}

const RETRY_MS = 250;
const POLL_EVERY_MS = 100;
const REPOST_EVERY_MS = 400;

/** The load's clients: each goes on until it has its answer, whatever happens to the stack meanwhile. */
export class Clients {
  readonly counts: ClientCounts = {
    repeatsAnswered: 0,
    conflictsRefused: 0,
    faults: 0,
    streamsResumed: 0,
    polls: 0,
  };
  /** What must not happen to a client. */
  readonly wrong: string[] = [];
  readonly #options: ClientsOptions;

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  /** Posts until it is answered. */
  async post(run: TrackedRun): Promise<void> {
    const { key, request, tenantId } = run.plan;
    const { client } = await this.#options.accessFor(tenantId);
    const handle = await this.#insist(() => client.createRun(request, { idempotencyKey: key }));
    if (run.acceptedAt !== undefined) this.counts.repeatsAnswered += 1;
    run.acceptedAt ??= Date.now();
    run.runIds.add(handle.executionId);
  }

  /** Follows a run to its final event, over any number of connections: with the platform's client, or without. */
  async follow(run: TrackedRun): Promise<void> {
    const access = await this.#options.accessFor(run.plan.tenantId);
    const runId = runIdOf(run);
    if (runId === undefined) throw new Error(`${run.plan.key} was never accepted`);
    await (run.raw
      ? this.#followRaw(run, runId, access)
      : this.#followWithClient(run, runId, access));
    run.followedToEnd = true;
  }

  async #followWithClient(run: TrackedRun, runId: string, { client }: Access): Promise<void> {
    let cursor: string | undefined;
    const onCursor = (next: string) => {
      cursor = next;
    };
    for (;;) {
      try {
        for await (const event of client.streamEvents(runId, { cursor, onCursor })) {
          run.followed.push(event);
        }
        return;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (error instanceof StreamError && error.code === 'event_gap') throw error;
        this.counts.streamsResumed += 1;
        await delay(RETRY_MS);
      }
    }
  }

  async #followRaw(run: TrackedRun, runId: string, access: Access): Promise<void> {
    const following: RawFollowing = { events: run.followed, lastId: undefined };
    while (!(await readConnection(access, runId, following).catch(() => false))) {
      this.counts.streamsResumed += 1;
      await delay(RETRY_MS);
    }
  }

  /** Asks for a cancel until it is accepted, or the run has ended. */
  async cancel(run: TrackedRun): Promise<void> {
    const { client } = await this.#options.accessFor(run.plan.tenantId);
    const runId = runIdOf(run) ?? '';
    await this.#insist(() =>
      client.cancelRun(runId, { reason: 'chaos' }).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 'already_terminal')) throw error;
      }),
    );
  }

  /** Looks at runs in turn, for as long as the load lasts. */
  async poll(): Promise<void> {
    const { runs, accessFor, stopped } = this.#options;
    for (let turn = 0; !stopped.aborted; turn += 1) {
      await pause(POLL_EVERY_MS, stopped);
      const open = runs.filter((run) => run.acceptedAt !== undefined && !hasEnded(run));
      const run = open[turn % Math.max(1, open.length)];
      const runId = run && runIdOf(run);
      if (!run || !runId) continue;
      const { client } = await accessFor(run.plan.tenantId);
      await this.#attempt(async () => {
        const { status } = await client.getRun(runId);
        this.counts.polls += 1;
        if (run.statuses.at(-1) !== status) run.statuses.push(status);
      });
    }
  }

  /** Posts known keys again, sometimes with another body, which must be refused. */
  async repost(): Promise<void> {
    const { runs, random, accessFor, stopped } = this.#options;
    while (!stopped.aborted) {
      await pause(REPOST_EVERY_MS, stopped);
      const run = random.pick(runs.filter((each) => each.acceptedAt !== undefined));
      if (!run || stopped.aborted) continue;
      if (random.chance(0.8)) {
        await this.post(run);
        continue;
      }
      const { client } = await accessFor(run.plan.tenantId);
      const other = { ...run.plan.request, input: { prompt: 'another body' } };
      await this.#attempt(async () => {
        try {
          const { executionId } = await client.createRun(other, { idempotencyKey: run.plan.key });
          this.wrong.push(`${run.plan.key}: another body was accepted as ${executionId}`);
        } catch (error) {
          if (!(error instanceof ApiError && error.code === 'idempotency_conflict')) throw error;
          this.counts.conflictsRefused += 1;
        }
      });
    }
  }

  async #insist<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isTransient(error)) throw error;
        this.counts.faults += 1;
        await delay(RETRY_MS);
      }
    }
  }

  async #attempt(ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
    } catch (error) {
      if (isTransient(error)) this.counts.faults += 1;
      else this.wrong.push(`a client got: ${String(error)}`);
    }
  }
}

export function hasEnded(run: TrackedRun): boolean {
  const last = run.statuses.at(-1);
  return run.followedToEnd || (last !== undefined && isTerminal(last));
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
