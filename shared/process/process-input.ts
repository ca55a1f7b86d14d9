import type { Writable } from 'node:stream';

/** The stdin of a process that may end, or stop reading, at any time. */
export class ProcessInput {
  readonly #stream: Writable | undefined;

  constructor(stream: Writable | null) {
    // Without a listener the broken pipe of a dead engine would end the host.
    this.#stream = stream?.on('error', () => {}) ?? undefined;
  }

  /** True when the system took the bytes; false when the process does not read any more. */
  write(data: string | Uint8Array): Promise<boolean> {
    const stream = this.#stream;
    if (stream === undefined || !stream.writable) return Promise.resolve(false);
    return new Promise((resolve) => {
      // A destroyed stream calls this too, with an error.
      stream.write(data, (error) => resolve(error === null || error === undefined));
    });
  }

  /** The process reads an end of file after what was written. */
  end(): void {
    this.#stream?.end();
  }

  destroy(): void {
    this.#stream?.destroy();
  }
}
