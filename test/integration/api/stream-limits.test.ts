import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import type { LogPage, RunLedger } from '#shared/runs/index.ts';
import { type ApiBench, openApiBench } from '#test/support/api-bench.ts';
import { startLiveRun } from '#test/support/live-run.ts';
import { NOON, noticeEvent } from '#test/support/run-builders.ts';
import { ManualClock } from '#test/unit/client/support/manual-clock.ts';
import { type OpenRaw, openRaw, type RawStream, refusedStream } from './raw-stream.ts';

let bench: ApiBench;
let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock(Date.parse(NOON));
});
afterEach(() => bench.close());

const open = async (runId: string, more: Partial<OpenRaw> = {}) =>
  openRaw({ url: bench.url, token: await bench.tokenFor('acme'), runId, ...more });

/**
 * Lets the server's time pass until it is so: polls and heartbeats happen on the way. Sockets and the table need real
 * time, so theirs runs no more than a hundred times as fast.
 */
async function passUntil(isSo: () => boolean, stepMs = 100) {
  while (!isSo()) {
    clock.advance(stepMs);
    await delay(5);
  }
}

const count = (stream: RawStream) => () => stream.messages.length;

describe('a quiet stream', () => {
  it('B119 says something every 15 s, before its first event as after it, and forbids buffering', async () => {
    bench = await openApiBench({ clock });
    const run = await startLiveRun(bench);
    const all = await open(run.head.runId);
    const heads = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' };
    expect(all.headers).toMatchObject(heads);
    expect(all.headers['cache-control']).toContain('no-transform');
    await passUntil(() => all.messages.length > 0);
    // One that has all there is: the engine is silent for 70 s before its first event here.
    const waiting = await open(run.head.runId, { lastEventId: all.messages.at(-1)?.id });
    await waiting.until(() => waiting.text().length > 0);
    for (const stream of [all, waiting]) {
      for (let second = 0; second < 75; second += 15) {
        const before = stream.text().length;
        clock.advance(15_000);
        expect(await stream.until(() => stream.text().length > before)).toBe(true);
        expect(stream.text().slice(before)).toMatch(/^(: heartbeat\n\n)+$/);
      }
    }
    expect(waiting.messages).toEqual([]);
    await run.append(noticeEvent('awake'));
    await passUntil(() => waiting.messages.length === 1);
    expect(waiting.messages).toHaveLength(1);
  });
});

describe('a stream ends', () => {
  it('B127 with the token it was opened with, and delivers nothing stored after that', async () => {
    bench = await openApiBench({ clock });
    const run = await startLiveRun(bench);
    const token = await bench.tokenFor('acme', 30_000);
    const stream = await open(run.head.runId, { token });
    await run.append(noticeEvent('in time'));
    await passUntil(() => stream.messages.length >= 2);
    clock.advance(30_000);
    await run.append(noticeEvent('too late'));
    expect(await stream.ended).toBe('end');
    expect(stream.text()).not.toContain('too late');

    // The verifier allows clocks of two machines to differ by 5 s.
    clock.advance(6_000);
    const resume = {
      url: bench.url,
      runId: run.head.runId,
      lastEventId: stream.messages.at(-1)?.id,
    };
    expect(await refusedStream({ ...resume, token })).toMatchObject({ code: 'unauthenticated' });
    const again = await open(run.head.runId, { lastEventId: resume.lastEventId });
    await passUntil(() => again.messages.length > 0);
    expect(again.events[0]).toMatchObject({ payload: { message: 'too late' } });
  });

  it('B128 with its age, in good order; the client goes on behind it and gets the rest once', async () => {
    bench = await openApiBench({ clock });
    const run = await startLiveRun(bench);
    const stream = await open(run.head.runId);
    const client = await bench.apiClient('acme', { random: () => 0 });
    const seen: AgentEvent[] = [];
    const following = (async () => {
      for await (const event of client.streamEvents(run.head.runId)) seen.push(event);
    })();
    await run.append(noticeEvent('before'));
    await passUntil(() => stream.messages.length >= 2 && seen.length >= 2);
    await passUntil(() => clock.now() >= Date.parse(NOON) + 15 * 60_000, 5_000);
    expect(await stream.ended).toBe('end');
    expect(stream.retries.every((ms) => ms >= 500 && ms <= 2_000)).toBe(true);
    expect(stream.retries).not.toEqual([]);
    await run.append(noticeEvent('after'));
    await run.end();
    let isOver = false;
    void following.finally(() => {
      isOver = true;
    });
    await passUntil(() => isOver);
    await following;
    const page = await client.listEvents(run.head.runId, { limit: 1_000 });
    expect(seen).toEqual(page.events);
  });
});

describe('a reader that takes nothing', () => {
  const PAGE_EVENTS = 32;
  const PAGES = 200;
  /** 100 MB of events, made when they are read. */
  const endless = (ledger: RunLedger): RunLedger =>
    new Proxy(ledger, {
      get(target, name: keyof RunLedger) {
        if (name !== 'readPages')
          return (target[name] as (...given: unknown[]) => unknown).bind(target);
        return async (_ref: unknown, after: number, limit: number) =>
          Array.from({ length: Math.max(0, Math.min(limit, PAGES - after)) }, (_, nth) =>
            bigPage(after + nth + 1),
          );
      },
    });
  const text = 'x'.repeat(16 * 1024);
  const bigPage = (index: number): LogPage => ({
    index,
    kind: index === PAGES ? 'final' : 'events',
    epoch: 1,
    producer: 'host',
    producerFirst: 1,
    first: (index - 1) * PAGE_EVENTS + 1,
    events: Array.from({ length: PAGE_EVENTS }, () => noticeEvent(text)),
    traceId: 'a'.repeat(32),
  });

  it('B121 costs little memory and holds up nobody; then it is cut, and resumes behind what it got', async () => {
    bench = await openApiBench({ clock, ledgerFor: endless });
    const head = await bench.accept();
    const readAll = async () => {
      const reader = await open(head.runId, { paused: true });
      let received = 0;
      reader.response.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      await passUntil(() => received > PAGES * PAGE_EVENTS * text.length);
      return reader.ended;
    };
    expect(await readAll()).toBe('end');
    const before = usedBytes();
    const stalled = await open(head.runId, { paused: true });
    expect(await readAll()).toBe('end');
    // The whole log is 100 MB. One reader may hold a page and a read; beside it, what is kept for all readers.
    expect(usedBytes() - before).toBeLessThan(10 * 1024 * 1024);
    expect(bench.failures).toEqual([]);

    // It goes on taking nothing.
    clock.advance(30_000);
    stalled.response.resume();
    expect(await stalled.ended).toBe('cut');
    expect(bench.failures).toEqual([expect.stringMatching(/took nothing/)]);

    const reading = await open(head.runId);
    await passUntil(() => reading.messages.length > 3);
    reading.leave();
    const place = count(reading)() - 1;
    const resumed = await open(head.runId, { lastEventId: reading.messages[place]?.id });
    await passUntil(() => resumed.messages.length > 0);
    expect(resumed.events[0]?.sequence).toBe((reading.events[place]?.sequence ?? 0) + 1);
    resumed.leave();
  });
});

/** What is left in use after a full collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
