import type { EventSourceMessage } from 'eventsource-parser';
import {
  type AgentEvent,
  agentEventSchema,
  type EventPage,
  isFinalEventType,
  type RunId,
} from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type ClientClock, sleep, within } from './client-clock.ts';
import { ApiError, ConnectionError, isTransient, StreamError } from './client-error.ts';
import { lenient } from './lenient-schema.ts';
import { readSse } from './sse-reader.ts';

/** Where to read on: as the caller gave it, or as the server sent it with an event. */
export type ResumePoint = { readonly from: 'caller' | 'server'; readonly cursor: string };

/** How the follower reaches the run's log; the client binds it to HTTP. */
export interface EventLogSource {
  /** Opens the live stream after the resume point, or from the start. */
  openStream(
    resume: ResumePoint | undefined,
    signal: AbortSignal,
  ): Promise<ReadableStream<Uint8Array>>;
  /** The stored events after the cursor, or from the start. */
  readPage(cursor: string | undefined, signal: AbortSignal): Promise<EventPage>;
}

export interface FollowOptions {
  readonly runId: RunId;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly clock: ClientClock;
  readonly random: () => number;
  /** Silence after which a connection counts as dead; the server sends a heartbeat every 10 s. */
  readonly idleMs: number;
  /** Connections in a row that may bring nothing before the follower gives up. */
  readonly maxFruitless: number;
  /** Called after each event with the cursor that resumes behind it, where the server gave one. */
  readonly onCursor?: ((cursor: string) => void) | undefined;
}

const RECONNECT_BACKOFF = { baseMs: 500, maxMs: 30_000 };
/** A connection that lived this long was a good one, however it ended and whatever the run had to say. */
const LONG_CONNECTION_MS = 60_000;
/** The same for a connection that the server ended in good order. */
const ORDERLY_CONNECTION_MS = 15_000;

const eventSchema = lenient(agentEventSchema);

/**
 * One run's events, each exactly once and in the order of their sequence numbers, across any number of connections,
 * up to and including the run's final event. The end of a connection says nothing about the run.
 */
export class RunEventFollower {
  readonly #source: EventLogSource;
  readonly #options: FollowOptions;
  /** Aborted by the caller's signal, and when the caller stops reading. */
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #resume: ResumePoint | undefined;
  /** Sequence of the last event given to the caller; unknown until the first one after a caller's cursor. */
  #last: number | undefined;
  #ended = false;
  /** Where the pauses between connections begin; the server may spread its readers with it. */
  #retryMs = RECONNECT_BACKOFF.baseMs;

  constructor(source: EventLogSource, options: FollowOptions) {
    this.#source = source;
    this.#options = options;
    this.#signal = options.signal
      ? AbortSignal.any([options.signal, this.#stop.signal])
      : this.#stop.signal;
    if (options.cursor === undefined) this.#last = 0;
    else this.#resume = { from: 'caller', cursor: options.cursor };
  }

  /** @throws StreamError, ApiError, ReplyError, or the signal's reason */
  async *events(): AsyncGenerator<AgentEvent, void, undefined> {
    let fruitless = 0;
    try {
      for (;;) {
        const attempt = yield* this.#attempt();
        if (this.#ended) return;
        fruitless = attempt.fruitful ? 0 : fruitless + 1;
        if (fruitless >= this.#options.maxFruitless) throw exhausted(fruitless, attempt.fault);
        await this.#pause(fruitless, attempt.fault);
      }
    } finally {
      this.#stop.abort();
    }
  }

  /** One connection. Throws only what a new connection cannot mend. */
  async *#attempt(): AsyncGenerator<AgentEvent, { fruitful: boolean; fault: unknown }, undefined> {
    const { clock } = this.#options;
    const openedAtMs = clock.now();
    const before = this.#last;
    let fault: unknown;
    try {
      yield* this.#readConnection();
      // A cut without any news: the log itself says whether there are any, or whether the run ended before our cursor.
      if (!this.#ended && this.#last === before) yield* this.#readPages();
    } catch (error) {
      this.#options.signal?.throwIfAborted();
      if (!isTransient(error)) throw error;
      fault = error;
    }
    const livedMs = clock.now() - openedAtMs;
    const good = livedMs >= (fault === undefined ? ORDERLY_CONNECTION_MS : LONG_CONNECTION_MS);
    const fruitful = this.#last !== before || good;
    return { fruitful, fault };
  }

  async *#readConnection(): AsyncGenerator<AgentEvent, void, undefined> {
    const cut = new AbortController();
    try {
      const body = await this.#connect(cut);
      const { clock, idleMs } = this.#options;
      const onRetry = (ms: number) => {
        this.#retryMs = Math.min(ms, RECONNECT_BACKOFF.maxMs);
      };
      for await (const message of readSse(body, { clock, idleMs, onRetry })) {
        const event = this.#decode(message);
        if (!event) continue;
        if (this.#isGapBefore(event)) {
          // The stored log is the truth; it holds the missing ones and this one.
          yield* this.#readPages(event.sequence);
        } else if (this.#accept(event)) {
          this.#remember(message.id);
          yield event;
        }
        if (this.#ended) return;
      }
    } finally {
      cut.abort();
    }
  }

  #connect(cut: AbortController): Promise<ReadableStream<Uint8Array>> {
    const { clock, idleMs } = this.#options;
    const signal = AbortSignal.any([this.#signal, cut.signal]);
    return within(
      clock,
      idleMs,
      this.#source.openStream(this.#resume, signal),
      () => new ConnectionError(`the event stream did not open within ${idleMs / 1000} s`),
    );
  }

  /** Reads the log page by page: up to `target`, or as far as it goes. */
  async *#readPages(target?: number): AsyncGenerator<AgentEvent, void, undefined> {
    let cursor = this.#resume?.cursor;
    for (;;) {
      const page = await this.#source.readPage(cursor, this.#signal);
      for (const event of page.events) {
        if (this.#isGapBefore(event)) throw this.#gap(event.sequence);
        if (!this.#accept(event)) continue;
        yield event;
        if (this.#ended) return;
      }
      this.#remember(page.nextCursor);
      if (page.complete) this.#ended = true;
      if (this.#ended || this.#reached(target)) return;
      if (page.events.length === 0 || page.nextCursor === cursor) {
        if (target === undefined) return;
        throw this.#gap(target);
      }
      cursor = page.nextCursor;
    }
  }

  /**
   * A message that is not an event of this run is left out without moving the cursor: if it was a broken event, the
   * next one shows the gap, and the log is read instead.
   */
  #decode(message: EventSourceMessage): AgentEvent | undefined {
    let json: unknown;
    try {
      json = JSON.parse(message.data);
    } catch {
      return undefined;
    }
    const parsed = eventSchema.safeParse(json);
    if (!parsed.success || parsed.data.executionId !== this.#options.runId) return undefined;
    // The field beside the data is a second witness: a forged or garbled message rarely agrees with itself.
    if (message.event !== undefined && message.event !== parsed.data.eventType) return undefined;
    return parsed.data;
  }

  #isGapBefore(event: AgentEvent): boolean {
    return this.#last !== undefined && event.sequence > this.#last + 1;
  }

  /** False for a repeat. */
  #accept(event: AgentEvent): boolean {
    if (this.#last !== undefined && event.sequence <= this.#last) return false;
    this.#last = event.sequence;
    if (isFinalEventType(event.eventType)) this.#ended = true;
    return true;
  }

  #remember(cursor: string | undefined): void {
    if (!cursor) return;
    this.#resume = { from: 'server', cursor };
    this.#options.onCursor?.(cursor);
  }

  #reached(target: number | undefined): boolean {
    return target !== undefined && this.#last !== undefined && this.#last >= target;
  }

  #gap(upTo: number): StreamError {
    return new StreamError(
      'event_gap',
      `events ${(this.#last ?? 0) + 1} to ${upTo - 1} of ${this.#options.runId} are missing from its log`,
    );
  }

  async #pause(fruitless: number, fault: unknown): Promise<void> {
    const asked = fault instanceof ApiError ? (fault.retryAfterMs ?? 0) : 0;
    const backoff = { ...RECONNECT_BACKOFF, baseMs: this.#retryMs };
    const pause = backoffMs(fruitless, backoff, this.#options.random);
    const { clock, signal } = this.#options;
    await sleep(clock, Math.max(Math.min(asked, RECONNECT_BACKOFF.maxMs), pause), signal);
  }
}

function exhausted(attempts: number, fault: unknown): Error {
  if (fault instanceof StreamError || fault instanceof ApiError) return fault;
  return new StreamError(
    'stream_interrupted',
    `the event stream ended before the run's final event, and ${attempts} attempts to resume it brought nothing`,
    fault,
  );
}
