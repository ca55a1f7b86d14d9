import fc from 'fast-check';
import { expect } from 'vitest';
import type { TerminalStatus } from '#shared/contracts/index.ts';
import { at, claimOf, creationOf } from '#test/support/run-builders.ts';
import { RunModel, type TenantModel } from './run-model.ts';
import type { TenantUnderTest } from './tenant-under-test.ts';

type Command = fc.AsyncCommand<TenantModel, TenantUnderTest>;

/** A command on a run that is there. `act` changes the model, writes for real, and compares the outcomes. */
function command(
  name: string,
  slot: number,
  act: (run: RunModel, real: TenantUnderTest, model: TenantModel) => Promise<void>,
): Command {
  return {
    check: (model) => model.runs.has(slot),
    async run(model, real) {
      const run = model.runs.get(slot) as RunModel;
      await act(run, real, model);
      await real.checkHead(slot, run);
    },
    toString: () => `${name} of ${slot}`,
  };
}

/** The newest head, or one that is `age` changes old: what a slow actor decides on. */
function seenBy(run: RunModel, age: number) {
  const head = run.seen.at(-1 - age) ?? run.seen[0];
  if (!head) throw new Error('nobody has seen this run');
  return head;
}

/** The run's epoch, or an older one: what a host that was replaced writes with. */
const epochOf = (run: RunModel, age: number) => Math.max(0, run.epoch - age);

const create = (slot: number, bodyHash: string): Command => ({
  check: () => true,
  async run(model, real) {
    const known = model.runs.get(slot);
    const created = await real.ledger.createRun(creationOf(real.newHead(slot), bodyHash));
    if (!known) {
      expect(created.outcome).toBe('created');
      const run = new RunModel(bodyHash);
      model.runs.set(slot, run);
      await real.checkHead(slot, run);
      return;
    }
    const same = known.bodyHash === bodyHash;
    expect(created.outcome).toBe(same ? 'replayed' : 'idempotency_conflict');
    await real.checkHead(slot, known);
  },
  toString: () => `create ${slot} as ${bodyHash}`,
});

const claim = (slot: number, age: number) =>
  command(`claim, seen ${age} ago`, slot, async (run, real, model) => {
    const head = seenBy(run, age);
    const { outcome } = await real.ledger.claimForLaunch(claimOf(head, model.limit));
    if (!run.mayBecome(head, 'starting')) return expect(outcome).toBe('lost');
    if (model.live >= model.limit) return expect(outcome).toBe('quota_exceeded');
    expect(outcome).toBe('claimed');
    run.claim();
  });

const release = (slot: number, age: number) =>
  command(`give the claim back, seen ${age} ago`, slot, async (run, real) => {
    const head = seenBy(run, age);
    const { outcome } = await real.ledger.releaseClaim({ head, dueAt: at(90) });
    const may = run.matches(head) && run.status === 'starting' && !run.host && !run.hasTask;
    // Given back already by the same claim: the same answer again.
    const again = run.status === 'queued' && head.status === 'starting' && run.epoch === head.epoch;
    expect(outcome).toBe(
      may || (again && run.attempt === head.attempt - 1) ? 'applied' : 'refused',
    );
    if (may) run.release();
  });

const recordTask = (slot: number, age: number) =>
  command(`record the task, epoch ${age} ago`, slot, async (run, real) => {
    const epoch = epochOf(run, age);
    const { outcome } = await real.ledger.recordTask(real.ref(slot), epoch, `arn:${epoch}`);
    const may = run.live && epoch === run.epoch;
    const has = run.hasTask && epoch === run.epoch;
    expect(outcome).toBe(may || has ? 'applied' : 'refused');
    if (may) run.hasTask = true;
  });

const hostClaim = (slot: number, age: number, host: string) =>
  command(`claim by ${host}, epoch ${age} ago`, slot, async (run, real) => {
    const epoch = epochOf(run, age);
    const place = await real.ledger.logEnd(real.ref(slot));
    const { outcome } = await real.runs.host({ ...seenBy(run, 0), epoch }, host);
    const may = run.mayHost(epoch, host);
    expect(outcome).toBe(may ? 'applied' : 'refused');
    if (!may) return;
    run.status = 'running';
    run.host = host;
    run.places.set(epoch, [...(run.places.get(epoch) ?? []), place]);
  });

/** `back`: how many of its events the host sends again; `place`: how many replies its place in the log is old. */
const append = (slot: number, age: number, count: number, back: number, place: number) =>
  command(`append ${count}, again ${back}, epoch ${age} ago`, slot, async (run, real) => {
    const epoch = epochOf(run, age);
    const places = run.places.get(epoch);
    const from = places?.at(-1 - place) ?? places?.[0];
    if (!from) return; // no host ever had this epoch
    const first = Math.max(1, run.storedThrough(epoch) + 1 - back);
    const messages = Array.from({ length: count }, (_, n) => `${epoch}.${first + n}`);
    const expected = run.append(epoch, from, first, messages);
    const appended = await real.runs.append({ ...seenBy(run, 0), epoch }, first, messages, from);
    if (expected.outcome === 'fenced') return expect(appended).toEqual(expected);
    expect(appended).toMatchObject({ outcome: 'stored', storedThrough: expected.storedThrough });
    if (appended.outcome !== 'stored') return;
    expect(appended.platformEvents.length > 0).toBe(expected.cancelSeen);
    places?.push(appended.position);
  });

const renew = (slot: number, age: number) =>
  command(`heartbeat, epoch ${age} ago`, slot, async (run, real) => {
    const epoch = epochOf(run, age);
    const { outcome } = await real.ledger.renewLease(real.ref(slot), epoch, at(100));
    const may = ['running', 'cancelling'].includes(run.status) && epoch === run.epoch;
    expect(outcome).toBe(may ? 'applied' : 'refused');
  });

const cancel = (slot: number, age: number) =>
  command(`cancel, seen ${age} ago`, slot, async (run, real) => {
    const head = seenBy(run, age);
    const { outcome } = await real.runs.cancel(head);
    const may = run.mayBecome(head, 'cancelling');
    expect(outcome).toBe(may ? 'applied' : 'changed');
    if (may) run.cancel();
  });

const finish = (slot: number, age: number, status: TerminalStatus) =>
  command(`finish ${status}, seen ${age} ago`, slot, async (run, real) => {
    const head = seenBy(run, age);
    const { outcome } = await real.runs.finish(head, status);
    const may = run.mayBecome(head, status);
    expect(outcome).toBe(may ? 'applied' : 'changed');
    if (may) run.end('final', status);
  });

const requeue = (slot: number, age: number) =>
  command(`requeue, seen ${age} ago`, slot, async (run, real) => {
    const head = seenBy(run, age);
    const { outcome } = await real.runs.requeue(head);
    const may = run.mayBecome(head, 'queued');
    expect(outcome).toBe(may ? 'applied' : 'changed');
    if (may) run.end('seal', 'queued');
  });

const checkAll: Command = {
  check: () => true,
  run: (model, real) => real.checkAll(model),
  toString: () => 'compare everything',
};

/** Most of it happens to one run, so that it gets far. */
const slot = fc.constantFrom(0, 0, 0, 0, 1, 1, 2);
/** How many changes ago somebody looked. */
const age = fc.constantFrom(0, 0, 0, 1, 1, 2, 4);
const now = fc.constant(0);
const some = fc.integer({ min: 1, max: 4 });
const host = fc.constantFrom('host-aaaa', 'host-aaaa', 'host-bbbb');

const ending = fc.constantFrom<TerminalStatus>(
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'budget_exhausted',
);

/** A run that a host has, and one that waits: where every story begins. */
export const BEGINNING = [
  create(0, 'a'),
  claim(0, 0),
  hostClaim(0, 0, 'host-aaaa'),
  create(1, 'a'),
];

const OFTEN = 4;

/** What may happen to the runs of a tenant, in any order; what moves a run on comes more often than what ends it. */
export const TENANT_COMMANDS = [
  ...Array.from({ length: OFTEN }, () => [
    fc.tuple(slot, now).map((args) => claim(...args)),
    fc.tuple(slot, now, host).map((args) => hostClaim(...args)),
    fc.tuple(slot, now, some, fc.nat(3), fc.nat(3)).map((args) => append(...args)),
    fc.tuple(slot, age, some, fc.nat(3), fc.nat(3)).map((args) => append(...args)),
    fc.tuple(slot, age).map((args) => requeue(...args)),
  ]).flat(),
  fc.tuple(slot, fc.constantFrom('a', 'a', 'b')).map((args) => create(...args)),
  fc.tuple(slot, age).map((args) => claim(...args)),
  fc.tuple(slot, age).map((args) => release(...args)),
  fc.tuple(slot, age).map((args) => recordTask(...args)),
  fc.tuple(slot, age, host).map((args) => hostClaim(...args)),
  fc.tuple(slot, age).map((args) => renew(...args)),
  fc.tuple(slot, age).map((args) => renew(...args)),
  fc.tuple(slot, age).map((args) => cancel(...args)),
  fc.tuple(slot, age, ending).map((args) => finish(...args)),
  fc.tuple(slot, age, ending).map((args) => finish(...args)),
  fc.constant(checkAll),
];
