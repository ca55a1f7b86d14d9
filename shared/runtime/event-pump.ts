import {
  type AppendReply,
  type AppendRequest,
  type Directive,
  type EventBatch,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  MAX_INLINE_EVENT_BYTES,
  type NewEvent,
  type UploadBlobRequest,
} from '#shared/contracts/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import { EventQueue } from './event-queue.ts';
import { GatewayRefused, GatewayUnreachable } from './gateway-client.ts';
import { DEFAULT_WAITING, type WaitingLimits } from './host-limits.ts';
import { blobOf, pointerTo } from './outsized-event.ts';
import type { QueuedEvent } from './queued-event.ts';
import type { Spool } from './spool.ts';

export interface EventPumpOptions extends Partial<Pick<WaitingLimits, 'memoryBytes' | 'stallMs'>> {
  readonly cursor: string;
  /** Tries until it is answered; rejects when the gateway refuses, when authority is lost, or with the signal. */
  readonly send: (request: AppendRequest, signal: AbortSignal) => Promise<AppendReply>;
  readonly upload: (request: UploadBlobRequest, signal: AbortSignal) => Promise<unknown>;
  /** The gateway answers other calls: a fault of one call is not an outage. */
  readonly isReachable: () => boolean;
  readonly onDirective: (directive: Directive) => void;
  /** Called once, when sending has failed for good: the pump takes no more. */
  readonly onFailure: (error: unknown) => void;
  /** Told of events that the gateway refuses and of a spool that fails. */
  readonly onFault: (error: unknown) => void;
  /** Left out: there is only memory. */
  readonly spool?: { readonly store: Spool; readonly bytes: number };
  readonly clock: Clock;
  /** Between two batches of a stream. */
  readonly flushAfterMs?: number;
  /** From the first event after a quiet time to its batch. */
  readonly firstFlushMs?: number;
  readonly flushBytes?: number;
}

/** What waits, for the host's health. */
export interface PendingEvents {
  readonly pendingEvents: number;
  readonly pendingBytes: number;
  readonly spoolBytes: number;
  readonly lostEvents: number;
}

const DEFAULTS = {
  flushAfterMs: 250,
  firstFlushMs: 50,
  flushBytes: 32 * 1024,
  memoryBytes: DEFAULT_WAITING.memoryBytes,
  stallMs: DEFAULT_WAITING.stallMs,
};
/** One less than a request may hold: the last batch needs a place to say what is missing behind it. */
const BATCH_EVENTS = MAX_BATCH_EVENTS - 1;

/**
 * Sends events in order, in batches, one request at a time: while a stream comes one batch each 250 ms or 32 KB, the
 * first after a quiet time after 50 ms, and the platform's `execution` events, which people and other systems wait
 * for, at once.
 *
 * `push` is the engine's brake. While the gateway stores, it waits for memory, so nothing is lost. When the gateway has
 * stalled it goes on, with the disk as memory; when that is full too, events are dropped and told of: the engine's
 * work does not wait for its log.
 */
export class EventPump {
  readonly #options: EventPumpOptions & typeof DEFAULTS;
  readonly #queue: EventQueue;
  readonly #stopped = new AbortController();
  #cursor: string;
  #nextProducerSequence = 1;
  #batchEvents = BATCH_EVENTS;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  /** No event can be stored any more, but the run goes on. */
  #unstorable = false;
  #lastFlushAt = 0;
  /** When something was stored last, or when the oldest event began to wait. */
  #progressAt: number;
  #urgent = false;
  #room: (() => void)[] = [];

  constructor(options: EventPumpOptions) {
    this.#options = { ...DEFAULTS, ...options };
    this.#cursor = options.cursor;
    this.#progressAt = options.clock.now();
    this.#queue = new EventQueue({
      ...(options.spool ? { spool: options.spool } : {}),
      memoryBytes: this.#options.memoryBytes,
      onSpoolFailure: options.onFault,
      timestamp: () => this.#timestamp(),
    });
  }

  get pending(): PendingEvents {
    return {
      pendingEvents: this.#queue.events,
      pendingBytes: this.#queue.bytes,
      spoolBytes: this.#queue.spooledBytes,
      lostEvents: this.#queue.lostEvents,
    };
  }

  /** How long events have waited without one of them being stored; 0 when none waits. */
  get stalledMs(): number {
    return this.#queue.isEmpty ? 0 : this.#options.clock.now() - this.#progressAt;
  }

  /** Takes events; resolves when there is room for more. A stopped pump takes nothing and resolves at once. */
  async push(events: readonly NewEvent[]): Promise<void> {
    if (this.#isOver || events.length === 0) return;
    if (this.#queue.isEmpty) this.#progressAt = this.#options.clock.now();
    for (const event of events) this.#queue.add(event);
    this.#urgent ||= events.some(isUrgent);
    this.#schedule();
    await this.#makeRoom();
  }

  /** Takes no more and sends no more: the platform does not listen, or nobody would wait. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped.abort(new Error('the pump was stopped'));
    this.#letGo();
  }

  /**
   * Ends the pump and hands over what is not stored yet, to be sent with the result. Everything that does not fit
   * into one last batch is sent before. When `giveUp` is aborted meanwhile, the rest is lost and the batch says so.
   */
  async drain(giveUp: AbortSignal): Promise<{ cursor: string; batch: EventBatch }> {
    if (giveUp.aborted) this.stop();
    else giveUp.addEventListener('abort', () => this.stop(), { once: true });
    while (!this.#isOver && !this.#fitsOneBatch()) {
      this.#flush();
      await this.#sending;
    }
    this.stop();
    await this.#sending;
    const events = this.#unstorable ? [] : await this.#lastBatch();
    return {
      cursor: this.#cursor,
      batch: { firstProducerSequence: this.#nextProducerSequence, events },
    };
  }

  async #lastBatch(): Promise<NewEvent[]> {
    const limits = { bytes: MAX_BATCH_BYTES, events: BATCH_EVENTS };
    const [first] = await this.#queue.first(limits);
    if (first && first.bytes > MAX_BATCH_BYTES) this.#queue.loseFirst('gateway_failed');
    return await this.#queue.close('gateway_failed', limits);
  }

  get #isOver(): boolean {
    return this.#stopped.signal.aborted || this.#unstorable;
  }

  #isDue(): boolean {
    return this.#urgent || this.#queue.bytes >= this.#options.flushBytes;
  }

  #fitsOneBatch(): boolean {
    return (
      !this.#sending &&
      !this.#queue.isSpooling &&
      this.#queue.bytes <= MAX_BATCH_BYTES / 2 &&
      this.#queue.events < BATCH_EVENTS
    );
  }

  #schedule(): void {
    if (this.#sending || this.#isOver || this.#queue.isEmpty) return;
    if (this.#isDue()) {
      this.#flush();
      return;
    }
    const { firstFlushMs, flushAfterMs, clock } = this.#options;
    const sinceMs = Math.max(0, clock.now() - this.#lastFlushAt);
    const waitMs = Math.max(firstFlushMs, flushAfterMs - sinceMs);
    this.#timer ??= setTimeout(() => this.#flush(), waitMs);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending || this.#isOver || this.#queue.isEmpty) return;
    this.#lastFlushAt = this.#options.clock.now();
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined;
      this.#schedule();
    });
  }

  async #send(): Promise<void> {
    const urgent = this.#urgent;
    this.#urgent = false;
    let batch: readonly QueuedEvent[] = [];
    try {
      batch = await this.#nextBatch();
      if (batch.length === 0) return;
      // What somebody waits for may be in the part that did not fit.
      this.#urgent ||= urgent && batch.length < this.#queue.events;
      const reply = await this.#options.send(
        {
          cursor: this.#cursor,
          batch: {
            firstProducerSequence: this.#nextProducerSequence,
            events: batch.map(({ event }) => event),
          },
        },
        this.#stopped.signal,
      );
      this.#cursor = reply.cursor;
      this.#nextProducerSequence += batch.length;
      this.#queue.removeFirst(batch.length);
      this.#batchEvents = Math.min(BATCH_EVENTS, this.#batchEvents * 2);
      this.#progressAt = this.#options.clock.now();
      for (const directive of reply.directives) this.#options.onDirective(directive);
    } catch (error) {
      this.#onSendFault(error, batch);
    } finally {
      this.#letGo();
    }
  }

  /** Telemetry never decides the outcome: what the gateway will not take is found, left out, and told of. */
  #onSendFault(error: unknown, batch: readonly QueuedEvent[]): void {
    if (this.#stopped.signal.aborted) return;
    if (!(error instanceof GatewayRefused)) {
      this.stop();
      this.#options.onFailure(error);
      return;
    }
    this.#options.onFault(error);
    if (error.code === 'invalid_cursor') {
      this.#unstorable = true;
      return;
    }
    this.#urgent = true;
    if (batch.length > 1) this.#batchEvents = Math.ceil(batch.length / 2);
    else if (batch[0]?.event.eventType === 'events.lost') this.#queue.removeFirst(1);
    else this.#queue.loseFirst('refused');
  }

  /** The oldest events that fit into one request; one that is too large for the log becomes a pointer first. */
  async #nextBatch(): Promise<readonly QueuedEvent[]> {
    for (;;) {
      const batch = await this.#queue.first({ bytes: MAX_BATCH_BYTES, events: this.#batchEvents });
      const outsized = batch.findIndex(({ bytes }) => bytes > MAX_INLINE_EVENT_BYTES);
      if (outsized > 0) return batch.slice(0, outsized);
      const [first] = batch;
      if (outsized === -1 || !first) return batch;
      await this.#externalise(first.event);
    }
  }

  async #externalise(event: NewEvent): Promise<void> {
    const request = blobOf(event);
    if (!request) {
      this.#queue.loseFirst('too_large');
      this.#letGo();
      return;
    }
    try {
      await this.#options.upload(request, this.#stopped.signal);
      this.#queue.replaceFirst(pointerTo(event, request));
    } catch (error) {
      const passing = error instanceof GatewayUnreachable;
      if (!passing && !(error instanceof GatewayRefused)) throw error;
      // In an outage nothing else can be stored either: only a store of blobs that fails alone is not waited for.
      if (passing && !this.#options.isReachable()) return;
      this.#options.onFault(error);
      this.#queue.loseFirst(passing ? 'gateway_failed' : 'refused');
    } finally {
      this.#letGo();
    }
  }

  async #makeRoom(): Promise<void> {
    const { stallMs } = this.#options;
    while (!this.#isOver) {
      const stalled = this.stalledMs >= stallMs;
      if (stalled || this.#queue.isSpooling) {
        if ((await this.#queue.spill({ mayDrop: stalled })) === 'done') return;
      } else if (!this.#queue.isOverMemory) return;
      await this.#progress(stallMs - this.stalledMs);
    }
  }

  /** Resolves when the gateway has stored something, or after `ms`. */
  #progress(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, ms));
      this.#room.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #letGo(): void {
    for (const resolve of this.#room.splice(0)) resolve();
  }

  #timestamp(): string {
    return isoTime(this.#options.clock.now());
  }
}

/** Native events repeat what the platform's own say, and an engine may print one for each word. */
function isUrgent({ family, source }: NewEvent): boolean {
  return family === 'execution' && source === 'platform';
}
