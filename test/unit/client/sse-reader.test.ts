import { describe, expect, it } from 'vitest';
import { ConnectionError, ReplyError } from '#client/client-error.ts';
import { readSse } from '#client/sse-reader.ts';
import { ManualClock } from './support/manual-clock.ts';

const encoder = new TextEncoder();

function bodyOf(...chunks: readonly (string | Uint8Array)[]): ReadableStream<Uint8Array> {
  const bytes = chunks.map((chunk) => (typeof chunk === 'string' ? encoder.encode(chunk) : chunk));
  return ReadableStream.from(bytes) as ReadableStream<Uint8Array>;
}

async function messagesOf(body: ReadableStream<Uint8Array>) {
  const messages = [];
  for await (const message of readSse(body, { clock: new ManualClock(), idleMs: 45_000 })) {
    messages.push(message);
  }
  return messages;
}

describe('readSse', () => {
  it('reads messages whose bytes are split anywhere, in characters and line ends too', async () => {
    const text = 'id: c1\r\nevent: a.b\r\ndata: grüße 👍\r\n\r\n: heartbeat\r\n\r\ndata: two\n\n';
    const expected = [
      { id: 'c1', event: 'a.b', data: 'grüße 👍' },
      { id: undefined, event: undefined, data: 'two' },
    ];
    const bytes = encoder.encode(text);
    for (let size = 1; size <= bytes.length; size += 1) {
      const pieces: Uint8Array[] = [];
      for (let from = 0; from < bytes.length; from += size) {
        pieces.push(bytes.slice(from, from + size));
      }
      expect(await messagesOf(bodyOf(...pieces))).toEqual(expected);
    }
  });

  it('B124 gives back text with carriage returns when they are escaped as JSON does', async () => {
    const text = 'line one\revent: execution.completed\rdata: {}\r\rid: 999\u2028\u0085\u0000';
    const [only, ...rest] = await messagesOf(
      bodyOf(`id: c1\ndata: ${JSON.stringify({ text })}\n\n`),
    );
    expect(rest).toEqual([]);
    expect(only?.id).toBe('c1');
    expect(JSON.parse(only?.data ?? '')).toEqual({ text });
  });

  it('B124 cuts raw carriage returns into fields, as the standard says: no layer below may hide that', async () => {
    const messages = await messagesOf(
      bodyOf('id: c1\ndata: {"text":"one\rdata: {}\r\rid: 999\n\n'),
    );
    expect(messages).toEqual([{ id: 'c1', event: undefined, data: '{"text":"one\n{}' }]);
  });

  it('drops a last message that was cut off before its blank line', async () => {
    expect(await messagesOf(bodyOf('data: whole\n\ndata: half\n'))).toEqual([
      { id: undefined, event: undefined, data: 'whole' },
    ]);
  });

  it('ignores an id with a NUL, which the standard forbids', async () => {
    const [message] = await messagesOf(bodyOf('id: a\u0000b\ndata: x\n\n'));
    expect(message).toEqual({ id: undefined, event: undefined, data: 'x' });
  });

  it('replaces bytes that are not UTF-8 instead of failing', async () => {
    const bytes = new Uint8Array([
      ...encoder.encode('data: a'),
      0xff,
      0xfe,
      ...encoder.encode('\n\n'),
    ]);
    expect((await messagesOf(bodyOf(bytes)))[0]?.data).toBe('a\ufffd\ufffd');
  });

  it('gives up on a line without an end instead of filling memory', async () => {
    const piece = encoder.encode(`data: ${'x'.repeat(1024 * 1024)}`);
    const endless = new ReadableStream<Uint8Array>({ pull: (to) => to.enqueue(piece) });
    await expect(messagesOf(endless)).rejects.toBeInstanceOf(ReplyError);
  });

  it('B119 counts any byte as life, and only silence of the whole time as death', async () => {
    const clock = new ManualClock();
    let source!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        source = controller;
      },
    });
    const messages = readSse(body, { clock, idleMs: 45_000 });
    const first = messages.next();
    for (let beat = 0; beat < 5; beat += 1) {
      await clock.timerOf(45_000);
      clock.advance(44_999);
      source.enqueue(encoder.encode(': heartbeat\n\n'));
    }
    await clock.timerOf(45_000);
    source.enqueue(encoder.encode('data: x\n\n'));
    expect((await first).value).toMatchObject({ data: 'x' });

    const second = messages.next();
    await clock.timerOf(45_000);
    clock.advance(45_000);
    await expect(second).rejects.toThrow(ConnectionError);
    expect(clock.pendingTimers).toBe(0);
  });

  it('B121 reads on only when it is asked for more', async () => {
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (to) => {
          pulls += 1;
          to.enqueue(encoder.encode(`data: ${pulls}\n\n`));
        },
      },
      { highWaterMark: 0 },
    );
    const messages = readSse(body, { clock: new ManualClock(), idleMs: 45_000 });
    for (let index = 1; index <= 3; index += 1) {
      expect((await messages.next()).value).toMatchObject({ data: String(index) });
      expect(pulls).toBe(index);
    }
    await messages.return();
  });

  it('closes the body when the reader leaves', async () => {
    const cancelled = Promise.withResolvers<void>();
    const body = new ReadableStream<Uint8Array>({
      pull: (to) => to.enqueue(encoder.encode('data: x\n\n')),
      cancel: () => cancelled.resolve(),
    });
    for await (const message of readSse(body, { clock: new ManualClock(), idleMs: 45_000 })) {
      expect(message.data).toBe('x');
      break;
    }
    await cancelled.promise;
  });

  it('says that the connection broke when the body fails', async () => {
    const body = new ReadableStream<Uint8Array>({ pull: (to) => to.error(new Error('reset')) });
    await expect(messagesOf(body)).rejects.toThrow(ConnectionError);
  });
});
