import { ulid } from 'ulid';
import { expect } from 'vitest';
import { isTerminal } from '#shared/contracts/index.ts';
import {
  canTransition,
  LOG_BEGINNING,
  type RunHead,
  type RunLedger,
  readEvents,
} from '#shared/runs/index.ts';
import { runsOf } from '#test/support/ledger-runs.ts';
import { queuedHead } from '#test/support/run-builders.ts';
import type { RunModel, TenantModel } from './run-model.ts';

/** The real side of the comparison: one tenant's runs in the real ledger, by slot. */
export class TenantUnderTest {
  readonly ledger: RunLedger;
  readonly runs: ReturnType<typeof runsOf>;
  readonly tenantId = ulid();
  readonly #ids = new Map<number, string>();
  readonly #last = new Map<number, RunHead>();

  constructor(ledger: RunLedger) {
    this.ledger = ledger;
    this.runs = runsOf(ledger);
  }

  /** A head as a request for this slot would make it: the id is the slot's, the rest is the request's. */
  newHead(slot: number): RunHead {
    const runId = this.#ids.get(slot) ?? queuedHead().runId;
    this.#ids.set(slot, runId);
    return queuedHead({
      tenantId: this.tenantId,
      runId,
      repeatable: true,
      traceId: crypto.randomUUID().replaceAll('-', ''),
    });
  }

  ref(slot: number) {
    return { tenantId: this.tenantId, runId: this.#ids.get(slot) ?? '' };
  }

  /** After every command: the head is as the model says, and came there by a transition that exists. */
  async checkHead(slot: number, run: RunModel): Promise<void> {
    const head = await this.ledger.readHead(this.ref(slot));
    if (!head) throw new Error('the run is not there');
    expect(head).toMatchObject({ status: run.status, epoch: run.epoch, attempt: run.attempt });
    expect(head.quota !== undefined).toBe(run.live);
    expect(head.dueAt === undefined).toBe(isTerminal(head.status));
    const before = this.#last.get(slot);
    if (before && before.status !== head.status) {
      expect(canTransition(before.status, head.status)).toBe(true);
    }
    if (before && isTerminal(before.status)) expect(head).toEqual(before);
    this.#last.set(slot, head);
    // Only what differs to a decision: else "a few changes ago" would nearly always be now.
    if (!before || before.status !== head.status || before.epoch !== head.epoch) {
      run.seen.push(head);
    }
  }

  /** Everything the ledger says of this tenant, against everything the model says. */
  async checkAll(model: TenantModel): Promise<void> {
    for (const [slot, run] of model.runs) {
      await this.checkHead(slot, run);
      await this.#checkLog(slot, run);
      const attempts = await this.ledger.readAttempts(this.ref(slot));
      const expected = [...run.ended, ...(run.live ? [run.epoch] : [])];
      expect(attempts.map(({ epoch }) => epoch)).toEqual(expected);
      expect(attempts.filter(({ endedAt }) => endedAt).map(({ epoch }) => epoch)).toEqual(
        run.ended,
      );
    }
    const counters = await this.runs.counters(this.tenantId);
    expect(counters.reduce((sum, { live }) => sum + live, 0)).toBe(model.live);
    expect(model.live).toBeLessThanOrEqual(model.limit);
    const { heads } = await this.ledger.liveRuns(this.tenantId, { limit: 100 });
    const pending = [...model.runs].filter(([, run]) => !run.terminal);
    expect(heads.map(({ runId }) => runId).toSorted()).toEqual(
      pending.map(([slot]) => this.ref(slot).runId).toSorted(),
    );
  }

  async #checkLog(slot: number, run: RunModel): Promise<void> {
    const pages = await this.ledger.readPages(this.ref(slot), 0, 1_000);
    expect(
      pages.map(({ kind, epoch, producer, events }) => ({
        kind,
        epoch,
        producer,
        messages: producer === 'host' ? events.map(messageOf) : [],
      })),
    ).toEqual(
      run.pages.map(({ kind, epoch, producer, messages }) => ({ kind, epoch, producer, messages })),
    );
    expect(pages.map(({ index }) => index)).toEqual(pages.map((_, place) => place + 1));
    const finals = pages.flatMap(({ kind }, place) => (kind === 'final' ? [place] : []));
    expect(finals).toEqual(run.terminal ? [pages.length - 1] : []);
    const { events } = await readEvents(this.ledger, this.ref(slot), LOG_BEGINNING, 10_000);
    const count = Math.min(events.length, pages.flatMap((page) => page.events).length);
    expect(events.map(({ event }) => event.sequence)).toEqual(
      Array.from({ length: count }, (_, place) => place + 1),
    );
  }
}

function messageOf({ payload }: { payload: unknown }): string {
  return (payload as { message: string }).message;
}
