import type { Directive, HeartbeatReply } from '#shared/contracts/index.ts';

/**
 * Renews the lease at a steady pace, apart from events. The host beats, not the engine: an engine that thinks for an
 * hour is alive as long as its host is.
 */
export class Heartbeat {
  readonly #everyMs: number;
  readonly #beat: (signal: AbortSignal) => Promise<HeartbeatReply>;
  readonly #onDirective: (directive: Directive) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  constructor(options: {
    everyMs: number;
    beat: (signal: AbortSignal) => Promise<HeartbeatReply>;
    onDirective: (directive: Directive) => void;
    onFailure: (error: unknown) => void;
  }) {
    this.#everyMs = options.everyMs;
    this.#beat = options.beat;
    this.#onDirective = options.onDirective;
    this.#onFailure = options.onFailure;
  }

  start(): void {
    this.#timer = setTimeout(() => void this.beatNow(), this.#everyMs);
  }

  /** One beat now, not waiting for the next; used when the task is told to stop and the host must learn why. */
  beatNow(): Promise<void> {
    this.#beating ??= this.#once().finally(() => {
      this.#beating = undefined;
      clearTimeout(this.#timer);
      if (!this.#stopped.signal.aborted) this.start();
    });
    return this.#beating;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped.abort();
  }

  async #once(): Promise<void> {
    try {
      const reply = await this.#beat(this.#stopped.signal);
      for (const directive of reply.directives) this.#onDirective(directive);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.stop();
      this.#onFailure(error);
    }
  }
}
