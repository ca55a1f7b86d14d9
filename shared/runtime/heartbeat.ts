import type { Directive, HeartbeatReply } from '#shared/contracts/index.ts';
import type { Clock } from '#shared/kit/clock.ts';
import { GatewayUnreachable } from './gateway-client.ts';

export interface HeartbeatOptions {
  readonly everyMs: number;
  /** See `fenceAfterMs` of the claim's lease. */
  readonly fenceAfterMs: number | undefined;
  /** One try. */
  readonly beat: (signal: AbortSignal) => Promise<HeartbeatReply>;
  readonly onDirective: (directive: Directive) => void;
  readonly onRenewed: () => void;
  /** Once: the lease could not be renewed for `fenceAfterMs`. Beating goes on. */
  readonly onSilence: () => void;
  /** The gateway refused: no beat follows. */
  readonly onFailure: (error: unknown) => void;
  readonly clock: Clock;
}

/** After a beat that failed; the lease is three beats long. */
const RETRY_MS = 2_000;

/**
 * Renews the lease at a steady pace, apart from events. The host beats, not the engine: an engine that thinks for an
 * hour is alive as long as its host is. A gateway that cannot be reached is asked again, for as long as it takes.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #fence: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  #renewedAt: number;
  #silenceTold = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#renewedAt = options.clock.now();
  }

  /** @param claimedAtMs when the claim was sent: the lease began then or later */
  start(claimedAtMs: number): void {
    this.#renewedAt = claimedAtMs;
    this.#watchSilence();
    this.#next(this.#options.everyMs);
  }

  /** The gateway answered not long ago. */
  get isReaching(): boolean {
    const { clock, everyMs } = this.#options;
    return clock.now() - this.#renewedAt < 2 * everyMs;
  }

  /** One beat now, not waiting for the next; used when the task is told to stop and the host must learn why. */
  beatNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#beating ??= this.#once().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#fence);
    this.#stopped.abort(new Error('the heartbeat was stopped'));
  }

  #next(ms: number): void {
    if (this.#stopped.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.beatNow(), ms);
  }

  async #once(): Promise<void> {
    const { everyMs, clock, onDirective, onRenewed, onFailure } = this.#options;
    const beganAt = clock.now();
    try {
      const reply = await this.#options.beat(this.#stopped.signal);
      // The lease counts from when the gateway was asked, at the earliest.
      this.#renewedAt = beganAt;
      this.#watchSilence();
      for (const directive of reply.directives) onDirective(directive);
      onRenewed();
      this.#next(everyMs);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      if (error instanceof GatewayUnreachable) {
        this.#next(Math.min(everyMs, RETRY_MS));
        return;
      }
      this.stop();
      onFailure(error);
    }
  }

  #watchSilence(): void {
    const { fenceAfterMs, clock, onSilence } = this.#options;
    clearTimeout(this.#fence);
    if (fenceAfterMs === undefined || this.#silenceTold || this.#stopped.signal.aborted) return;
    const leftMs = Math.max(0, this.#renewedAt + fenceAfterMs - clock.now());
    this.#fence = setTimeout(() => {
      this.#silenceTold = true;
      onSilence();
    }, leftMs);
  }
}
