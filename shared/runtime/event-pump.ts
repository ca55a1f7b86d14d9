import {
  type AppendReply,
  type AppendRequest,
  type Directive,
  type EventBatch,
  MAX_BATCH_BYTES,
  MAX_BATCH_EVENTS,
  type NewEvent,
} from '#shared/contracts/index.ts';

export interface EventPumpOptions {
  readonly cursor: string;
  readonly send: (request: AppendRequest) => Promise<AppendReply>;
  readonly onDirective: (directive: Directive) => void;
  /** Called once, when sending has failed for good: the pump takes no more. */
  readonly onFailure: (error: unknown) => void;
  readonly flushAfterMs?: number;
  readonly flushBytes?: number;
  /** Above this, `push` waits: the engine's pipe fills and it slows down, instead of the host's memory growing. */
  readonly highWaterBytes?: number;
}

interface Waiting {
  readonly event: NewEvent;
  readonly bytes: number;
}

const FLUSH_AFTER_MS = 150;
const FLUSH_BYTES = 32 * 1024;
const HIGH_WATER_BYTES = 4 * 1024 * 1024;
/** A larger event keeps its place, without its payload: it could never be stored, and nothing may block the rest. */
const MAX_EVENT_BYTES = 200 * 1024;

/**
 * Sends events in order, in batches, one request at a time. Flushes after 150 ms or 32 KB, and at once for events
 * of the `execution` family, which people and other systems wait for.
 */
export class EventPump {
  readonly #options: Required<EventPumpOptions>;
  #cursor: string;
  #nextProducerSequence = 1;
  #queue: Waiting[] = [];
  #queuedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #ended = false;
  /** Somebody waits for an event in the queue. */
  #urgent = false;
  #room: (() => void)[] = [];

  constructor(options: EventPumpOptions) {
    this.#options = {
      flushAfterMs: FLUSH_AFTER_MS,
      flushBytes: FLUSH_BYTES,
      highWaterBytes: HIGH_WATER_BYTES,
      ...options,
    };
    this.#cursor = options.cursor;
  }

  /** Takes events; resolves when there is room for more. After a failure it takes nothing and resolves at once. */
  async push(events: readonly NewEvent[]): Promise<void> {
    if (this.#ended || events.length === 0) return;
    for (const event of events) {
      const waiting = bounded(event);
      this.#queue.push(waiting);
      this.#queuedBytes += waiting.bytes;
    }
    this.#urgent ||= events.some(({ family }) => family === 'execution');
    if (this.#isDue()) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#options.flushAfterMs);
    if (this.#queuedBytes > this.#options.highWaterBytes) {
      await new Promise<void>((resolve) => this.#room.push(resolve));
    }
  }

  /**
   * Ends the pump and hands over what is not stored yet, to be sent with the result. Everything that does not fit
   * into one last batch is sent before.
   */
  async drain(): Promise<{ cursor: string; batch: EventBatch }> {
    for (;;) {
      await this.#sending;
      if (this.#ended || this.#fitsOneBatch()) break;
      this.#flush();
    }
    clearTimeout(this.#timer);
    const events = this.#queue.map(({ event }) => event);
    this.#queue = [];
    this.#ended = true;
    return {
      cursor: this.#cursor,
      batch: { firstProducerSequence: this.#nextProducerSequence, events },
    };
  }

  #isDue(): boolean {
    return this.#urgent || this.#queuedBytes >= this.#options.flushBytes;
  }

  #fitsOneBatch(): boolean {
    return this.#queuedBytes <= MAX_BATCH_BYTES / 2 && this.#queue.length <= MAX_BATCH_EVENTS;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#sending || this.#ended || this.#queue.length === 0) return;
    this.#sending = this.#send().finally(() => {
      this.#sending = undefined;
      if (this.#ended || this.#queue.length === 0) return;
      if (this.#isDue()) this.#flush();
      else {
        this.#timer ??= setTimeout(() => this.#flush(), this.#options.flushAfterMs);
      }
    });
  }

  async #send(): Promise<void> {
    this.#urgent = false;
    const batch = this.#takeBatch();
    try {
      const reply = await this.#options.send({
        cursor: this.#cursor,
        batch: {
          firstProducerSequence: this.#nextProducerSequence,
          events: batch.map(({ event }) => event),
        },
      });
      this.#cursor = reply.cursor;
      this.#nextProducerSequence += batch.length;
      this.#queue.splice(0, batch.length);
      this.#queuedBytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
      for (const directive of reply.directives) this.#options.onDirective(directive);
    } catch (error) {
      this.#ended = true;
      this.#options.onFailure(error);
    } finally {
      if (this.#ended || this.#queuedBytes <= this.#options.highWaterBytes) {
        for (const resolve of this.#room.splice(0)) resolve();
      }
    }
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const waiting of this.#queue) {
      if (count > 0 && (count >= MAX_BATCH_EVENTS || bytes + waiting.bytes > MAX_BATCH_BYTES))
        break;
      bytes += waiting.bytes;
      count += 1;
    }
    return this.#queue.slice(0, count);
  }
}

function bounded(event: NewEvent): Waiting {
  const bytes = Buffer.byteLength(JSON.stringify(event));
  if (bytes <= MAX_EVENT_BYTES) return { event, bytes };
  const small = { ...event, payload: { payloadOmitted: true, payloadBytes: bytes } };
  return { event: small, bytes: Buffer.byteLength(JSON.stringify(small)) };
}
