import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { type ApiBench, openApiBench } from '#test/support/api-bench.ts';
import { type LiveRun, startLiveRun } from '#test/support/live-run.ts';
import { noticeEvent } from '#test/support/run-builders.ts';
import { openRaw, refusedStream } from './raw-stream.ts';

let bench: ApiBench;
afterEach(() => bench.close());

const notices = (count: number, from = 1) =>
  Array.from({ length: count }, (_, index) => noticeEvent(`notice ${from + index}`));

/** The log as paging gives it. */
async function stored(run: Pick<LiveRun, 'head'>, limit = 1_000): Promise<AgentEvent[]> {
  const client = await bench.apiClient();
  const events: AgentEvent[] = [];
  let cursor: string | undefined;
  for (;;) {
    const page = await client.listEvents(run.head.runId, { cursor, limit });
    events.push(...page.events);
    if (page.complete) return events;
    expect(page.events.length).toBeGreaterThan(0);
    cursor = page.nextCursor;
  }
}

const raw = async (
  run: Pick<LiveRun, 'head'>,
  options: { lastEventId?: string | undefined } = {},
) =>
  openRaw({
    url: bench.url,
    token: await bench.tokenFor('acme'),
    runId: run.head.runId,
    ...options,
  });

describe('an event stream', () => {
  it('B115 misses no ending that comes between the check and the first read', async () => {
    const checked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    bench = await openApiBench({
      ledgerFor: (ledger) =>
        between(ledger, {
          async readHead(ref) {
            const head = await ledger.readHead(ref);
            checked.resolve();
            await goOn.promise;
            return head;
          },
        }),
    });
    const run = await startLiveRun(bench);
    const opening = raw(run);
    await checked.promise;
    await run.end();
    goOn.resolve();
    const stream = await opening;
    expect(await stream.ended).toBe('end');
    expect(stream.events.at(-1)?.eventType).toBe('run.completed');
  });

  it('B116 of a run that has ended gives what is stored, and ends', async () => {
    bench = await openApiBench();
    const completed = await startLiveRun(bench);
    await completed.append(...notices(3));
    await completed.end();
    const cancelled = { head: await bench.accept() };
    await (await bench.apiClient()).cancelRun(cancelled.head.runId);
    for (const run of [completed, cancelled]) {
      const stream = await raw(run);
      expect(await stream.ended).toBe('end');
      expect(stream.events).toEqual(await stored(run));
      const behind = await raw(run, { lastEventId: stream.messages.at(-1)?.id });
      expect(await behind.ended).toBe('end');
      expect(behind.events).toEqual([]);
    }
  });

  it('B118 is read by each reader for itself', async () => {
    bench = await openApiBench();
    const run = await startLiveRun(bench);
    await run.append(...notices(6));
    const [first, second] = [await raw(run), await raw(run)];
    await Promise.all([first, second].map((one) => one.until(() => one.messages.length >= 5)));
    const third = await raw(run, { lastEventId: second.messages[2]?.id });
    first.leave();
    await run.append(...notices(6, 7));
    await run.end();
    const resumed = await raw(run, { lastEventId: first.messages.at(-1)?.id });
    expect(await Promise.all([second.ended, third.ended, resumed.ended])).toEqual(
      Array(3).fill('end'),
    );
    const all = await stored(run);
    expect(second.events).toEqual(all);
    expect(third.events).toEqual(all.slice(3));
    expect([...first.events, ...resumed.events]).toEqual(all);
  });

  it('B122 of a burst reaches a slow reader whole', async () => {
    bench = await openApiBench();
    const run = await startLiveRun(bench);
    const following = (await bench.apiClient()).streamEvents(run.head.runId);
    const seen: AgentEvent[] = [(await following.next()).value as AgentEvent];
    for (let page = 0; page < 5; page += 1) await run.append(...notices(100, page * 100));
    await run.end();
    for await (const event of following) {
      seen.push(event);
      await nextTurn();
    }
    expect(seen).toEqual(await stored(run));
  });

  it('B124 gives text with carriage returns as one message, with the text as it was', async () => {
    bench = await openApiBench();
    const run = await startLiveRun(bench);
    const text =
      'line one\revent: run.completed\rdata: {}\r\rid: 999\r\n\r\ndata: x\n\n\u2028\u2029\u0085\0';
    await run.append(noticeEvent(text));
    await run.end();
    const stream = await raw(run);
    expect(await stream.ended).toBe('end');
    const [message, ...others] = stream.messages.filter(
      ({ event }) => event === 'execution.diagnostic',
    );
    expect(others).toEqual([]);
    expect(JSON.parse(message?.data ?? '')).toMatchObject({ payload: { message: text } });
    expect(stream.text()).not.toContain('\r');
    expect(stream.events).toEqual(await stored(run));
  });

  it('B125 is in the order of the log, whatever the clocks of its writers say', async () => {
    bench = await openApiBench();
    const run = await startLiveRun(bench);
    const times = [
      '2026-11-30T12:00:05.000Z',
      '2026-11-30T12:00:03.000Z',
      '1970-01-01T00:00:00.000Z',
    ];
    for (const [index, time] of times.entries()) await run.append(noticeEvent(`${index}`, time));
    await run.end();
    const stream = await raw(run);
    await stream.ended;
    const sequences = stream.events.map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => index + 1));
    const mine = stream.events.filter(({ eventType }) => eventType === 'execution.diagnostic');
    expect(mine.map(({ payload }) => (payload as { message: string }).message)).toEqual([
      '0',
      '1',
      '2',
    ]);
    expect(mine.map(({ timestamp }) => timestamp)).toEqual(times);
  });

  it('is refused, with the field that is wrong, for a cursor of somewhere else', async () => {
    bench = await openApiBench();
    const [run, other] = [await startLiveRun(bench), await startLiveRun(bench)];
    await run.append(...notices(2));
    const stream = await raw(run);
    await stream.until(() => stream.messages.length >= 3);
    stream.leave();
    const place = stream.messages.at(-1)?.id ?? '';
    const ask = async (runId: string, tenantId: string, sent: object) =>
      refusedStream({ url: bench.url, token: await bench.tokenFor(tenantId), runId, ...sent });
    const invalid = { status: 400, code: 'invalid_cursor' };
    expect(await ask(other.head.runId, 'acme', { lastEventId: place })).toMatchObject({
      ...invalid,
      detail: 'this cursor is of another run',
      field: 'Last-Event-ID',
    });
    expect(await ask(other.head.runId, 'acme', { cursor: 'made-up' })).toMatchObject({
      ...invalid,
      detail: 'this cursor was not made by this API',
      field: 'query.cursor',
    });
    // The same run id in another tenant is another run, and there is none.
    expect(await ask(run.head.runId, 'globex', { cursor: place })).toMatchObject(invalid);
    expect(await ask(run.head.runId, 'globex', {})).toMatchObject({
      status: 404,
      code: 'run_not_found',
    });
    // A place of the run's own log that it does not have yet.
    const longer = Buffer.from(place, 'base64url');
    longer.writeUInt32BE(longer.readUInt32BE(7) + 1, 7);
    const ahead = longer.toString('base64url');
    expect(await ask(run.head.runId, 'acme', { cursor: ahead })).toMatchObject({
      ...invalid,
      detail: 'this cursor points behind the end of the log',
    });
    await expect(
      (await bench.apiClient()).listEvents(run.head.runId, { cursor: ahead }),
    ).rejects.toMatchObject({ status: 400, code: 'invalid_cursor' });
  });
});

function between(ledger: RunLedger, own: Partial<RunLedger>): RunLedger {
  return new Proxy(ledger, {
    get: (target, name: keyof RunLedger) =>
      own[name] ?? (target[name] as (...given: unknown[]) => unknown).bind(target),
  });
}
