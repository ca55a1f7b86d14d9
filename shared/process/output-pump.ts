import type { Readable } from 'node:stream';
import { settlesWithin } from './deadline.ts';

export interface DrainLimits {
  /** Longest wait for one more byte while somebody may still hold the pipe. */
  readonly idleMs: number;
  /** Longest time in all, that of a slow consumer included. */
  readonly totalMs: number;
}

/**
 * Reads one pipe to its end, chunk by chunk: while the consumer is busy nothing is read, so that a fast
 * writer waits in the kernel and not in our memory.
 */
export class OutputPump {
  /** Settles when everything is consumed; rejects with the consumer's own error. */
  readonly done: Promise<void>;
  readonly #stream: Readable;
  #wake = (): void => {};
  #chunks = 0;
  #consuming = false;
  #ended = false;
  #abandoned = false;

  /**
   * @param consume called with each chunk, one at a time
   * @param finish called once after the last chunk, also after a cut
   */
  constructor(
    stream: Readable,
    consume: (chunk: Buffer, isAbandoned: () => boolean) => Promise<void>,
    finish: (isAbandoned: () => boolean) => Promise<void>,
  ) {
    this.#stream = stream;
    for (const event of ['readable', 'end', 'close', 'error']) stream.on(event, () => this.#wake());
    this.done = this.#run(consume, finish);
    // Whoever awaits `done` sees the error; nobody need await it while the process still runs.
    this.done.catch(() => {});
  }

  /** True when the end of the stream was reached: nothing the process wrote is missing. */
  get complete(): boolean {
    return this.#ended;
  }

  /** Reads on until the end, or until a limit is reached; then nothing more is consumed. */
  async drain({ idleMs, totalMs }: DrainLimits, monotonic: () => number): Promise<void> {
    const lastAt = monotonic() + totalMs;
    for (let seen = -1; ; seen = this.#chunks) {
      const left = lastAt - monotonic();
      if (await settlesWithin(this.done, Math.max(0, Math.min(idleMs, left)))) return;
      const idle = seen === this.#chunks && !this.#consuming;
      if (idle || left <= idleMs) break;
    }
    this.#stream.destroy();
    if (this.#consuming) this.#abandoned = true;
    else await this.done;
  }

  async #run(
    consume: (chunk: Buffer, isAbandoned: () => boolean) => Promise<void>,
    finish: (isAbandoned: () => boolean) => Promise<void>,
  ): Promise<void> {
    const isAbandoned = (): boolean => this.#abandoned;
    const use = async (action: () => Promise<void>): Promise<void> => {
      this.#consuming = true;
      try {
        await action();
      } finally {
        this.#consuming = false;
      }
    };
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) {
      this.#chunks += 1;
      const bytes = chunk;
      await use(() => consume(bytes, isAbandoned));
      if (this.#abandoned) return;
    }
    await use(() => finish(isAbandoned));
  }

  /** The next chunk; undefined at the end of the stream, after an error of the pipe, and when it was cut. */
  async #next(): Promise<Buffer | undefined> {
    const stream = this.#stream;
    for (;;) {
      const chunk: Buffer | null = stream.read();
      if (chunk !== null) return chunk;
      if (stream.readableEnded) {
        this.#ended = true;
        return undefined;
      }
      if (stream.destroyed) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
