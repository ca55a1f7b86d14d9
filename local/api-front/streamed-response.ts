import type { ServerResponse } from 'node:http';
import type { LambdaInvoker, ResponseMetadata, ResponseSink } from '#local/lambda/index.ts';
import { readHead } from './proxy-response.ts';

export type StreamEnd =
  /** The client has the whole answer, or has left, or was cut off: nothing more can be sent. */
  | { readonly kind: 'over' }
  /** Nothing was sent yet, so the client can be told. */
  | { readonly kind: 'failed'; readonly reason: 'function' | 'timeout' };

export interface StreamLimits {
  /** From the request to the end of the answer. */
  readonly totalMs: number;
  /** Between two chunks. */
  readonly idleMs: number;
}

/**
 * Streams a function's answer. Each chunk waits until the one before it has left this process, so a slow client
 * slows the function. An answer that breaks off is cut, not ended, so that the client can tell it from a whole one.
 */
export async function streamResponse(
  invoker: LambdaInvoker,
  event: unknown,
  response: ServerResponse,
  limits: StreamLimits,
): Promise<StreamEnd> {
  const gone = new AbortController();
  const clock = new StreamClock(limits, () => {
    console.error(`api: ${invoker.name}: the stream ran out of time`);
    gone.abort();
  });
  response.once('close', () => gone.abort());
  let malformed = false;

  const sink: ResponseSink = {
    readerGone: gone.signal,
    start(metadata: ResponseMetadata | undefined) {
      const head = metadata && readHead({ statusCode: 200, ...metadata });
      if (!head || gone.signal.aborted) {
        malformed = !head;
        gone.abort();
        return;
      }
      try {
        response.writeHead(head.statusCode, head.headers);
        response.flushHeaders();
      } catch {
        // A header that HTTP does not allow.
        malformed = true;
        gone.abort();
      }
    },
    write(chunk, taken) {
      if (gone.signal.aborted) return taken();
      clock.tick();
      if (chunk.length === 0) taken();
      else response.write(chunk, () => taken());
    },
  };

  // A function whose client has left is not waited for: it runs on, as in the real service.
  const left = new Promise<'left'>((resolve) => {
    gone.signal.addEventListener('abort', () => resolve('left'), { once: true });
  });
  const outcome = await Promise.race([invoker.stream(event, sink), left]);
  clock.stop();
  if (malformed) console.error(`api: ${invoker.name} began a stream without a valid status`);
  if (!response.headersSent && !response.destroyed) {
    return { kind: 'failed', reason: clock.isOver ? 'timeout' : 'function' };
  }
  if (outcome !== 'left' && outcome.status === 'ok') response.end();
  else response.destroy();
  return { kind: 'over' };
}

/** Calls `onOver` once, when the whole or the silence lasts too long. */
class StreamClock {
  readonly #idleMs: number;
  readonly #total: NodeJS.Timeout;
  #idle: NodeJS.Timeout;
  readonly #onOver: () => void;
  isOver = false;

  constructor({ totalMs, idleMs }: StreamLimits, onOver: () => void) {
    this.#idleMs = idleMs;
    this.#onOver = onOver;
    this.#total = setTimeout(() => this.#end(), totalMs);
    this.#idle = setTimeout(() => this.#end(), idleMs);
  }

  tick(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#end(), this.#idleMs);
  }

  stop(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
  }

  #end(): void {
    this.stop();
    this.isOver = true;
    this.#onOver();
  }
}
