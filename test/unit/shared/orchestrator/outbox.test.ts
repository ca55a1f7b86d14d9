import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import {
  type BusEvent,
  type BusRefusal,
  type EventBus,
  type GivenUpPages,
  type ParkedRun,
  type ParkedRuns,
  type RelayDeps,
  relayOutbox,
  type StreamedPage,
} from '#shared/orchestrator/index.ts';
import { type RunRef, toAgentEvents } from '#shared/runs/index.ts';
import { NOON, noticeEvent } from '#test/support/run-builders.ts';

const STORED_AT = Date.parse(NOON);
const A = runNamed('A');
const B = runNamed('B');

function runNamed(letter: string): RunRef {
  return { tenantId: 'acme', runId: `run_0000000000000000000000000${letter}` };
}

/** The events of a run's page; two to a page, numbered on from page to page. */
function events(ref: RunRef, index: number, change: Partial<AgentEvent> = {}): AgentEvent[] {
  return toAgentEvents(ref.runId, {
    index,
    kind: 'events',
    epoch: 1,
    producer: 'host',
    producerFirst: 1,
    first: index * 2 - 1,
    events: [noticeEvent(`first of ${index}`), noticeEvent(`second of ${index}`)],
    traceId: '0af7651916cd43dd8448eb211c80319c',
  }).map((event) => ({ ...event, ...change }));
}

const page = (
  record: number,
  ref: RunRef,
  index: number,
  list: StreamedPage['events'] = events(ref, index),
): StreamedPage => ({ record: String(record), storedAtMs: STORED_AT, ref, index, events: list });

/** `A5`: the fifth event of run A. */
const short = ({ executionId, sequence }: AgentEvent) => `${executionId.at(-1)}${sequence}`;

/** A bus that takes everything but what a rule refuses. */
function busWith(rule: (event: string, call: number) => BusRefusal['cause'] | undefined) {
  const offered: string[] = [];
  const taken: string[] = [];
  let calls = 0;
  const bus: EventBus = {
    async publish(list: readonly BusEvent[]) {
      calls += 1;
      return list.flatMap(({ event }, index): BusRefusal[] => {
        offered.push(short(event));
        const cause = rule(short(event), calls);
        if (!cause) taken.push(short(event));
        return cause ? [{ index, cause, code: `code_of_${cause}` }] : [];
      });
    },
  };
  return { bus, offered, taken };
}

function depsWith(bus: EventBus, options: { parked?: ParkedRun[]; nowMs?: number } = {}) {
  const parked = new Map((options.parked ?? []).map((run) => [run.ref.runId, run]));
  const reported: GivenUpPages[] = [];
  const waits: number[] = [];
  const runs: ParkedRuns = {
    list: async () => [...parked.values()],
    park: async (run) => void parked.set(run.ref.runId, run),
    async hold(ref, throughPage) {
      const run = parked.get(ref.runId);
      if (run) parked.set(ref.runId, { ...run, throughPage });
      return run ? 'held' : 'released';
    },
    advance: async () => {},
    release: async () => 'released',
  };
  const deps: RelayDeps = {
    bus,
    parked: runs,
    failures: { report: async (pages) => void reported.push(pages) },
    clock: { now: () => options.nowMs ?? STORED_AT },
    wait: async (ms) => void waits.push(ms),
    log: { info() {}, warn() {}, error() {} },
  };
  return { deps, parked, reported, waits };
}

const parkedRun = (ref: RunRef, fromPage: number): ParkedRun => ({
  ref,
  fromPage,
  throughPage: fromPage,
  code: 'InvalidArgument',
  parkedAt: NOON,
});

describe('TRM-6 relay', () => {
  it('publishes pages in order and says nothing when all is out', async () => {
    const { bus, taken } = busWith(() => undefined);
    const { deps, waits } = depsWith(bus);
    expect(await relayOutbox(deps, [page(1, A, 1), page(2, A, 2)])).toBeUndefined();
    expect(taken).toEqual(['A1', 'A2', 'A3', 'A4']);
    expect(waits).toEqual([]);
  });

  it('B67 tries what was refused again, and nothing before it, under the same id (B68)', async () => {
    const { bus, offered, taken } = busWith((event, call) =>
      event === 'A2' && call === 1 ? 'busy' : undefined,
    );
    const { deps, waits } = depsWith(bus);
    expect(await relayOutbox(deps, [page(1, A, 1)])).toBeUndefined();
    expect(offered).toEqual(['A1', 'A2', 'A2']);
    expect(taken).toEqual(['A1', 'A2']);
    expect(waits).toHaveLength(1);
  });

  it('sends again what the bus took behind a refused event, so that a run has an order', async () => {
    const { bus, offered, taken } = busWith((event, call) =>
      event === 'A1' && call === 1 ? 'busy' : undefined,
    );
    const { deps } = depsWith(bus);
    expect(await relayOutbox(deps, [page(1, A, 1)])).toBeUndefined();
    expect(offered).toEqual(['A1', 'A2', 'A1', 'A2']);
    expect(taken).toEqual(['A2', 'A1', 'A2']);
  });

  it('holds back the later pages of a run that is refused, and no other run', async () => {
    const { bus, taken } = busWith((event) => (event === 'A2' ? 'fault' : undefined));
    const { deps, parked } = depsWith(bus);
    const pages = [page(1, B, 1), page(2, A, 1), page(3, B, 2), page(4, A, 2), page(5, B, 3)];
    expect(await relayOutbox(deps, pages)).toBe('2');
    expect(taken.filter((event) => event.startsWith('A'))).toEqual(['A1']);
    expect(taken.filter((event) => event.startsWith('B'))).toEqual([
      'B1',
      'B2',
      'B3',
      'B4',
      'B5',
      'B6',
    ]);
    expect(parked.size).toBe(0);
  });

  it('gives the batch back from the first record that is not done, whichever run it is of', async () => {
    const { bus } = busWith((event) => (['A3', 'B1'].includes(event) ? 'busy' : undefined));
    const { deps } = depsWith(bus);
    expect(await relayOutbox(deps, [page(1, A, 1), page(2, A, 2), page(3, B, 1)])).toBe('2');
  });

  it('parks a run over an event that no repeat helps, reports it, and lets the shard move on', async () => {
    const { bus, taken } = busWith((event) => (event === 'A2' ? 'entry' : undefined));
    const { deps, parked, reported, waits } = depsWith(bus);
    const pages = [page(1, A, 1), page(2, B, 1), page(3, A, 2)];
    expect(await relayOutbox(deps, pages)).toBeUndefined();
    expect(taken).toEqual(['A1', 'B1', 'B2']);
    expect(reported).toEqual([{ ref: A, fromPage: 1, code: 'code_of_entry' }]);
    expect(parked.get(A.runId)).toMatchObject({ fromPage: 1, throughPage: 2 });
    expect(waits).toEqual([]);
  });

  it('publishes nothing of a parked run, so that its redrive keeps the order', async () => {
    const { bus, taken } = busWith(() => undefined);
    const { deps, parked } = depsWith(bus, { parked: [parkedRun(A, 1)] });
    expect(await relayOutbox(deps, [page(1, A, 2), page(2, B, 1)])).toBeUndefined();
    expect(taken).toEqual(['B1', 'B2']);
    expect(parked.get(A.runId)).toMatchObject({ fromPage: 1, throughPage: 2 });
  });

  it('goes on with a run that was released between the look and the hold', async () => {
    const { bus, taken } = busWith(() => undefined);
    const { deps } = depsWith(bus, { parked: [parkedRun(A, 1)] });
    deps.parked.hold = async () => 'released';
    await relayOutbox(deps, [page(1, A, 2)]);
    expect(taken).toEqual(['A3', 'A4']);
  });

  it('parks a page that cannot be read', async () => {
    const { bus, taken } = busWith(() => undefined);
    const { deps, parked } = depsWith(bus);
    const unreadable: StreamedPage = { ...page(2, A, 2), events: undefined };
    expect(await relayOutbox(deps, [page(1, A, 1), unreadable, page(3, A, 3)])).toBeUndefined();
    expect(taken).toEqual(['A1', 'A2']);
    expect(parked.get(A.runId)).toMatchObject({
      fromPage: 2,
      throughPage: 3,
      code: 'unreadable_page',
    });
  });

  describe('is patient with a bus', () => {
    const old = { nowMs: STORED_AT + 16 * 60_000 };

    it('that takes nothing, for as long as the stream keeps the records', async () => {
      const { bus } = busWith(() => 'fault');
      const { deps, parked } = depsWith(bus, old);
      expect(await relayOutbox(deps, [page(1, A, 1), page(2, B, 1)])).toBe('1');
      expect(parked.size).toBe(0);
    });

    it('that is busy', async () => {
      const { bus } = busWith((event) => (event === 'A1' ? 'busy' : undefined));
      const { deps, parked } = depsWith(bus, old);
      expect(await relayOutbox(deps, [page(1, A, 1), page(2, B, 1)])).toBe('1');
      expect(parked.size).toBe(0);
    });

    it('but not with one event while others pass', async () => {
      const { bus } = busWith((event) => (event === 'A1' ? 'fault' : undefined));
      const { deps, parked } = depsWith(bus, old);
      expect(await relayOutbox(deps, [page(1, A, 1), page(2, B, 1)])).toBeUndefined();
      expect([...parked.keys()]).toEqual([A.runId]);
    });
  });

  it('does not park what it cannot report: somebody has to know', async () => {
    const { bus } = busWith((event) => (event === 'A1' ? 'entry' : undefined));
    const { deps, parked } = depsWith(bus);
    deps.failures.report = async () => {
      throw new Error('the queue is gone');
    };
    expect(await relayOutbox(deps, [page(1, B, 1), page(2, A, 1)])).toBe('2');
    expect(parked.size).toBe(0);
  });

  it('gives back what it has no time for', async () => {
    const { bus, taken } = busWith(() => undefined);
    let nowMs = STORED_AT;
    const { deps } = depsWith({
      async publish(list) {
        nowMs += 30_000;
        return bus.publish(list);
      },
    });
    const timed = { ...deps, clock: { now: () => nowMs } };
    const pages = [page(1, A, 1), page(2, A, 2), page(3, A, 3)];
    expect(await relayOutbox(timed, pages)).toBe('3');
    expect(taken).toEqual(['A1', 'A2', 'A3', 'A4']);
  });

  it('keeps presentation and native events to the log', async () => {
    const { bus, offered } = busWith(() => undefined);
    const list = [
      ...events(A, 1, { family: 'presentation' }),
      ...events(A, 1, { source: 'engine_native' }),
    ];
    expect(await relayOutbox(depsWith(bus).deps, [page(1, A, 1, list)])).toBeUndefined();
    expect(offered).toEqual([]);
  });
});
