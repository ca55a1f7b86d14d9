import { createParser, type EventSourceMessage, type ParseError } from 'eventsource-parser';
import { type ClientClock, within } from './client-clock.ts';
import { ConnectionError, ReplyError } from './client-error.ts';

/** Larger than any event the API sends; a body that never ends a line is not an event stream. */
const MAX_MESSAGE_CHARS = 16 * 1024 * 1024;

export interface SseReaderOptions {
  readonly clock: ClientClock;
  /** Silence (heartbeats are not silence) after which the connection counts as dead. */
  readonly idleMs: number;
  /** How long the server asks its readers to wait before they connect again, in milliseconds. */
  readonly onRetry?: ((ms: number) => void) | undefined;
}

/**
 * The messages of one event stream, in order. Reads on only when asked for more, so a slow reader slows the server
 * instead of filling memory. A last message without its blank line is dropped: it may be half of one.
 *
 * @throws ConnectionError when the connection breaks or stays silent for `idleMs`
 */
export async function* readSse(
  body: ReadableStream<Uint8Array>,
  { clock, idleMs, onRetry }: SseReaderOptions,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const reader = body.getReader();
  // One decoder for the whole stream: a character may be split between two reads.
  const decoder = new TextDecoder();
  const messages: EventSourceMessage[] = [];
  let overflow: ParseError | undefined;
  const parser = createParser({
    maxBufferSize: MAX_MESSAGE_CHARS,
    onEvent: (message) => messages.push(message),
    ...(onRetry ? { onRetry } : {}),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') overflow = error;
    },
  });
  try {
    for (;;) {
      const chunk = await within(clock, idleMs, readChunk(reader), () => silent(idleMs));
      if (chunk === undefined) return;
      parser.feed(decoder.decode(chunk, { stream: true }));
      if (overflow) throw new ReplyError('the event stream holds an endless line', overflow);
      yield* messages.splice(0);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function readChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read();
    return done ? undefined : value;
  } catch (error) {
    throw new ConnectionError('the event stream was cut', error);
  }
}

function silent(idleMs: number): ConnectionError {
  return new ConnectionError(`the event stream was silent for ${idleMs / 1000} s`);
}
