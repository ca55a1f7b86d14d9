import { Writable } from 'node:stream';
import type { ResponseMetadata, ResponseSink } from './invoker.ts';

/** The mark that Lambda's Node runtime puts on streaming handlers, and libraries look for. */
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');
const METADATA_TYPE = 'application/vnd.awslambda.http-integration-response';

/** A handler of any signature; the caller knows what it takes. */
export type LambdaHandler = (...parameters: never[]) => unknown;

/** What a streaming handler writes to. */
export class LambdaResponseStream extends Writable {
  readonly #sink: ResponseSink;
  #metadata: ResponseMetadata | undefined;
  #started = false;

  constructor(sink: ResponseSink) {
    super({ decodeStrings: true });
    this.#sink = sink;
    // A handler that does not listen must not end the stack because its reader left.
    this.on('error', () => {});
    const leave = () => void this.destroy();
    if (sink.readerGone.aborted) leave();
    else sink.readerGone.addEventListener('abort', leave, { once: true });
  }

  /** Whether anything was written: without a write Lambda sends no metadata either. */
  get started(): boolean {
    return this.#started;
  }

  setContentType(type: string): void {
    if (this.#started) throw new Error('Cannot set content-type, too late.');
    if (type !== METADATA_TYPE) this.#metadata = { headers: { 'content-type': type } };
  }

  /** As `HttpResponseStream.from`: the metadata are sent before the first chunk. */
  useMetadata(metadata: unknown): void {
    this.setContentType(METADATA_TYPE);
    this.#metadata = JSON.parse(JSON.stringify(metadata));
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    if (!this.#started) {
      this.#started = true;
      this.#sink.start(this.#metadata);
    }
    this.#sink.write(chunk, callback);
  }
}

/**
 * Gives this process the global that Lambda's Node runtime has, `awslambda`, so that a streaming handler can be
 * loaded. Doing it again changes nothing.
 */
export function installAwsLambdaGlobal(): void {
  Object.assign(globalThis, { awslambda: AWS_LAMBDA });
}

const AWS_LAMBDA = {
  streamifyResponse<T extends LambdaHandler>(handler: T): T {
    return Object.assign(handler, { [STREAMING]: 'response' });
  },
  HttpResponseStream: {
    from(stream: Writable, metadata: unknown): Writable {
      if (!(stream instanceof LambdaResponseStream)) {
        throw new TypeError('HttpResponseStream.from takes the stream the handler was given');
      }
      stream.useMetadata(metadata);
      return stream;
    },
  },
};

export function isStreaming(handler: LambdaHandler): boolean {
  return (handler as { [STREAMING]?: unknown })[STREAMING] === 'response';
}

/** Collects a stream in the form in which Lambda would hand it on whole: metadata, eight zero bytes, body. */
export class CollectingSink implements ResponseSink {
  readonly readerGone = new AbortController().signal;
  readonly #chunks: Buffer[] = [];

  start(metadata: ResponseMetadata | undefined): void {
    if (!metadata) return;
    this.#chunks.push(Buffer.from(JSON.stringify(metadata)), Buffer.alloc(8));
  }

  write(chunk: Buffer, taken: () => void): void {
    this.#chunks.push(chunk);
    taken();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}
