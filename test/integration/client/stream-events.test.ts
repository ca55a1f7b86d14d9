import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, ReplyError, StreamError } from '#client/client-error.ts';
import { type ClientOptions, NexusDeskClient } from '#client/nexusdesk-client.ts';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { ManualClock } from '#test/unit/client/support/manual-clock.ts';
import { event, message, RUN_ID, sse, story } from '#test/unit/client/support/run-samples.ts';
import {
  cutStream,
  hangingStream,
  json,
  openStream,
  problem,
  reset,
  ScriptedApi,
  stream,
} from './scripted-api.ts';

const STREAM = `GET /v1/runs/${RUN_ID}/stream`;
const EVENTS = `GET /v1/runs/${RUN_ID}/events`;
const IDLE_MS = 45_000;

const page = (events: readonly AgentEvent[], nextCursor: string, complete = false) =>
  json({ events, nextCursor, complete });
const textOf = (events: readonly AgentEvent[]) => events.map(sse).join('');
const sequences = (events: readonly AgentEvent[]) => events.map(({ sequence }) => sequence);

async function readAll(events: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const all: AgentEvent[] = [];
  for await (const one of events) all.push(one);
  return all;
}

describe('streamEvents', () => {
  let api: ScriptedApi;
  let clock: ManualClock;

  beforeEach(async () => {
    api = await ScriptedApi.start();
    clock = new ManualClock();
  });
  afterEach(() => api.close());

  const client = (options: Partial<ClientOptions> = {}) =>
    new NexusDeskClient({ baseUrl: api.url, token: 'tok-1', clock, random: () => 0, ...options });

  it('TRM-7 gives every event of an undisturbed stream and ends after the final one', async () => {
    api.on(STREAM, stream(': stream\nretry: 1000\n\n', textOf(story(4))));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(story(4));
    expect(api.requests).toHaveLength(1);
    const { headers, query } = api.requests[0]!;
    expect(headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer tok-1' });
    expect(headers['last-event-id']).toBeUndefined();
    expect(query).toEqual({});
  });

  it('ends at the final event even when the server keeps the connection open', async () => {
    const closed = Promise.withResolvers<void>();
    api.on(STREAM, (response) => {
      response.on('close', closed.resolve);
      openStream(response);
      response.write(textOf([...story(3), message(4, 'too late')]));
    });
    expect(sequences(await readAll(client().streamEvents(RUN_ID)))).toEqual([1, 2, 3]);
    await closed.promise;
  });

  it('B128 resumes a stream that ended in good order without the final event', async () => {
    const events = story(9);
    api.on(STREAM, stream(textOf(events.slice(0, 5))), stream(textOf(events.slice(5))));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    const [, second] = api.seen(STREAM);
    expect(second?.headers['last-event-id']).toBe('c5');
    expect(second?.query).toEqual({});
  });

  it('TRM-7 drops what a resumed stream repeats, cut in the middle of an event or refused', async () => {
    const events = story(6);
    const half = sse(events[2]!).slice(0, 60);
    api.on(
      STREAM,
      reset,
      cutStream(textOf(events.slice(0, 2)), half),
      problem(503, 'throttled'),
      cutStream(textOf(events.slice(0, 4))),
      stream(textOf(events)),
    );
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    const ids = api.seen(STREAM).map(({ headers }) => headers['last-event-id']);
    expect(ids).toEqual([undefined, undefined, 'c2', 'c2', 'c4']);
  });

  it('B122 fills a gap from the stored log, page by page, and goes on with the stream', async () => {
    const events = story(8);
    const [, , , , , , seventh, last] = events;
    api.on(STREAM, stream(textOf(events.slice(0, 2)), sse(seventh!), sse(last!)));
    api.on(EVENTS, page(events.slice(1, 4), 'p4'), page(events.slice(4, 7), 'p7'));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    expect(api.seen(EVENTS).map(({ query }) => query)).toEqual([
      { cursor: 'c2' },
      { cursor: 'p4' },
    ]);
    expect(api.seen(STREAM)).toHaveLength(1);
  });

  it('B122 fills a gap before the first event, too', async () => {
    const events = story(5);
    api.on(STREAM, stream(textOf(events.slice(2))));
    api.on(EVENTS, page(events, 'p5', true));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    expect(api.seen(EVENTS).map(({ query }) => query)).toEqual([{}]);
  });

  it('B122 says which events are missing when the log does not hold them either', async () => {
    const events = story(5);
    const holed = [events[0]!, events[3]!];
    api.on(STREAM, stream(textOf(holed)));
    api.on(EVENTS, page(events.slice(3), 'p5', true));
    const read: number[] = [];
    const following = (async () => {
      for await (const { sequence } of client().streamEvents(RUN_ID)) read.push(sequence);
    })();
    await expect(following).rejects.toMatchObject({
      name: 'StreamError',
      code: 'event_gap',
      message: `events 2 to 3 of ${RUN_ID} are missing from its log`,
    });
    expect(read).toEqual([1]);
  });

  it('B124 does not take a message for an event that carriage returns have cut apart', async () => {
    const text = 'line one\revent: run.completed\rdata: {}\r\rid: 999';
    const events = [message(1, 'a'), message(2, text), event(3, 'run.completed', { usage: {} })];
    // A server that fails to escape: the raw text of the second event falls apart into fields.
    const torn = sse(events[1]!).replaceAll('\\r', '\r');
    api.on(STREAM, stream(sse(events[0]!), torn, sse(events[2]!)));
    api.on(EVENTS, page(events.slice(1), 'p3', true));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    expect(api.seen(EVENTS).map(({ query }) => query)).toEqual([{ cursor: 'c1' }]);
  });

  it('B124 ignores messages that are no event of this run, and does not resume behind them', async () => {
    const [first, second] = story(2);
    const foreign = { ...first!, executionId: 'run_01JDYYYYYYYYYYYYYYYYYYYYYY' };
    const noise = [
      'id: x1\ndata: not json\n\n',
      'id: x2\ndata: {}\n\n',
      'id: x3\ndata: null\n\n',
      `id: x4\ndata: ${JSON.stringify(foreign)}\n\n`,
      `id: x5\nevent: message.delta\ndata: ${JSON.stringify(second)}\n\n`,
      `id: x6\ndata: ${JSON.stringify({ ...second, schemaVersion: '2' })}\n\n`,
    ];
    api.on(STREAM, stream(sse(first!), ...noise), stream(sse(second!)));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual([first, second]);
    expect(api.seen(STREAM)[1]?.headers['last-event-id']).toBe('c1');
  });

  it('B125 keeps the order of sequence numbers whatever the timestamps say', async () => {
    const usage = { usage: {} };
    const events = [
      event(1, 'usage.updated', usage, 5_000),
      event(2, 'usage.updated', usage, 3_000),
      event(3, 'usage.updated', usage, -1_796_040_000_000),
      event(4, 'run.completed', usage, 1),
    ];
    api.on(STREAM, stream(textOf(events)));
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
  });

  it('B128 fails, and never ends quietly, when the final event never comes', async () => {
    api.on(STREAM, stream(textOf(story(9).slice(0, 5))));
    api.on(EVENTS, page([], 'c5'));
    const read: number[] = [];
    const following = (async () => {
      for await (const { sequence } of client().streamEvents(RUN_ID)) read.push(sequence);
    })();
    await expect(following).rejects.toMatchObject({ code: 'stream_interrupted' });
    expect(read).toEqual([1, 2, 3, 4, 5]);
    expect(api.seen(STREAM)).toHaveLength(11);
  });

  it('takes events from the log when the stream brings none', async () => {
    const events = story(4);
    api.on(STREAM, stream(': heartbeat\n\n'));
    api.on(
      EVENTS,
      page(events.slice(0, 2), 'p2'),
      page([], 'p2'),
      page(events.slice(2), 'p4', true),
    );
    expect(await readAll(client().streamEvents(RUN_ID))).toEqual(events);
    expect(api.seen(STREAM).map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      'p2',
    ]);
  });

  it('B116 ends without events when the cursor is behind the final event', async () => {
    api.on(STREAM, stream());
    api.on(EVENTS, page([], 'c9', true));
    expect(await readAll(client().streamEvents(RUN_ID, { cursor: 'c9' }))).toEqual([]);
    expect(api.seen(STREAM).map(({ query }) => query)).toEqual([{ cursor: 'c9' }]);
  });

  it('reads on behind a cursor, hands out cursors, and accepts any first sequence there', async () => {
    const events = story(7).slice(4);
    const cursors: string[] = [];
    api.on(STREAM, cutStream(': heartbeat\n\n'), stream(textOf(events)));
    api.on(EVENTS, page([], 'c4'));
    const options = { cursor: 'c4', onCursor: (cursor: string) => void cursors.push(cursor) };
    expect(await readAll(client().streamEvents(RUN_ID, options))).toEqual(events);
    expect(api.seen(STREAM)[1]?.query).toEqual({ cursor: 'c4' });
    expect(cursors).toEqual(['c5', 'c6', 'c7']);
  });

  it('puts a cursor that no header can carry into the query', async () => {
    const [first, second] = story(2);
    const odd = sse(first!).replace('id: c1', 'id: größer €');
    api.on(STREAM, stream(odd), stream(sse(second!)));
    expect(sequences(await readAll(client().streamEvents(RUN_ID)))).toEqual([1, 2]);
    expect(api.seen(STREAM)[1]?.query).toEqual({ cursor: 'größer €' });
  });

  it('B119 reconnects after 45 s without a byte, before the first event as after it', async () => {
    const events = story(3);
    api.on(
      STREAM,
      () => undefined,
      hangingStream(),
      hangingStream(sse(events[0]!)),
      stream(textOf(events)),
    );
    const following = client().streamEvents(RUN_ID);
    const first = following.next();
    for (const nth of [1, 2]) {
      await api.arrival(STREAM, nth);
      await clock.timerOf(IDLE_MS);
      clock.advance(IDLE_MS);
    }
    expect((await first).value).toEqual(events[0]);
    const second = following.next();
    await clock.timerOf(IDLE_MS);
    clock.advance(IDLE_MS);
    expect((await second).value).toEqual(events[1]);
    expect(sequences(await readAll(following))).toEqual([3]);
    expect(api.seen(STREAM)).toHaveLength(4);
  });

  it('B119 stays on a quiet connection while heartbeats come', async () => {
    const beats = Promise.withResolvers<(text: string) => void>();
    api.on(STREAM, (response) => {
      openStream(response);
      beats.resolve((text) => void response.write(text));
    });
    const all = readAll(client().streamEvents(RUN_ID));
    const write = await beats.promise;
    for (let beat = 0; beat < 4; beat += 1) {
      await clock.timerOf(IDLE_MS);
      clock.advance(15_000);
      write(': heartbeat\n\n');
    }
    await clock.timerOf(IDLE_MS);
    write(textOf(story(1)));
    expect(sequences(await all)).toEqual([1]);
    expect(api.seen(STREAM)).toHaveLength(1);
  });

  it('does not give up on a run that is quiet for long while its connections end in good order', async () => {
    const ends: (() => void)[] = [];
    const lastOpen = Promise.withResolvers<void>();
    const quiet = Array.from({ length: 15 }, () => (response: Parameters<typeof openStream>[0]) => {
      openStream(response);
      ends.push(() => response.end(': heartbeat\n\n'));
    });
    api.on(STREAM, ...quiet, (response, request) => {
      lastOpen.resolve();
      return stream(textOf(story(1)))(response, request);
    });
    api.on(EVENTS, page([], 'c0'));
    const all = readAll(client().streamEvents(RUN_ID));
    for (let nth = 1; nth <= 15; nth += 1) {
      await api.arrival(STREAM, nth);
      await clock.timerOf(IDLE_MS);
      clock.advance(20_000);
      ends[nth - 1]?.();
    }
    await lastOpen.promise;
    expect(sequences(await all)).toEqual([1]);
  });

  it('B127 asks for a new token when the old one has expired, in the middle of a run', async () => {
    const events = story(4);
    const tokens = ['old', 'old', 'new', 'new'];
    const token = async () => tokens.shift() ?? 'none left';
    api.on(
      STREAM,
      stream(textOf(events.slice(0, 2))),
      problem(401, 'unauthenticated'),
      stream(textOf(events.slice(2))),
    );
    expect(await readAll(client({ token }).streamEvents(RUN_ID))).toEqual(events);
    const used = api.seen(STREAM).map(({ headers }) => headers.authorization);
    expect(used).toEqual(['Bearer old', 'Bearer old', 'Bearer new']);
  });

  it('B127 fails at once when there is no better token', async () => {
    api.on(STREAM, stream(sse(story(3)[0]!)), problem(401, 'unauthenticated'));
    const all = readAll(client().streamEvents(RUN_ID));
    await expect(all).rejects.toMatchObject({ name: 'ApiError', status: 401 });
    expect(api.seen(STREAM)).toHaveLength(2);
  });

  it.each([
    [403, 'forbidden'],
    [404, 'run_not_found'],
    [400, 'invalid_cursor'],
  ])('does not repeat what the API refuses (%i %s)', async (status, code) => {
    api.on(STREAM, problem(status, code));
    const all = readAll(client().streamEvents(RUN_ID));
    await expect(all).rejects.toThrow(ApiError);
    expect(api.requests).toHaveLength(1);
  });

  it('TRM-7 spreads its next connection over the time that the server names with `retry`', async () => {
    const [first, second] = story(2);
    api.on(STREAM, stream('retry: 8000\n\n', sse(first!)), stream(sse(second!)));
    const all = readAll(client({ random: () => 0.5 }).streamEvents(RUN_ID));
    await clock.timerOf(4_000);
    expect(api.requests).toHaveLength(1);
    clock.advance(4_000);
    expect(sequences(await all)).toEqual([1, 2]);
  });

  it('waits as long as Retry-After asks before it connects again', async () => {
    api.on(STREAM, problem(429, 'throttled', {}, { 'retry-after': '7' }), stream(textOf(story(1))));
    const all = readAll(client().streamEvents(RUN_ID));
    await clock.timerOf(7_000);
    expect(api.requests).toHaveLength(1);
    clock.advance(7_000);
    expect(sequences(await all)).toEqual([1]);
  });

  it('gives up after ten connections in a row that bring nothing, with growing random pauses', async () => {
    api.on(STREAM, reset);
    const pauses: number[] = [];
    const random = () => {
      pauses.push(pauses.length);
      return 0;
    };
    await expect(readAll(client({ random }).streamEvents(RUN_ID))).rejects.toThrow(StreamError);
    expect(api.seen(STREAM)).toHaveLength(10);
    expect(pauses).toHaveLength(9);
  });

  it('refuses an answer that is no event stream', async () => {
    api.on(STREAM, json({ hello: 'world' }));
    await expect(readAll(client().streamEvents(RUN_ID))).rejects.toThrow(ReplyError);
  });

  it('stops with the reason of its signal, while it reads and while it waits', async () => {
    const reading = new AbortController();
    const closed = Promise.withResolvers<void>();
    api.on(STREAM, (response) => {
      response.on('close', closed.resolve);
      openStream(response);
      response.write(sse(story(2)[0]!));
    });
    const events = client().streamEvents(RUN_ID, { signal: reading.signal });
    await events.next();
    const next = events.next();
    await clock.timerOf(IDLE_MS);
    reading.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await closed.promise;

    const waiting = new AbortController();
    api.on(STREAM, reset);
    const random = () => 0.5;
    const all = readAll(client({ random }).streamEvents(RUN_ID, { signal: waiting.signal }));
    const refused = expect(all).rejects.toThrow('enough');
    await clock.timerOf(500);
    waiting.abort(new Error('enough'));
    await refused;
  });

  it('closes the connection when the caller stops reading', async () => {
    const closed = Promise.withResolvers<void>();
    api.on(STREAM, (response) => {
      response.on('close', closed.resolve);
      openStream(response);
      response.write(textOf(story(9).slice(0, 3)));
    });
    for await (const one of client().streamEvents(RUN_ID)) {
      if (one.sequence === 2) break;
    }
    await closed.promise;
    expect(api.requests).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('B118 gives two readers of one run every event each', async () => {
    api.on(STREAM, stream(textOf(story(5))));
    const reader = client();
    const both = await Promise.all([
      readAll(reader.streamEvents(RUN_ID)),
      readAll(reader.streamEvents(RUN_ID)),
    ]);
    expect(both).toEqual([story(5), story(5)]);
  });
});
