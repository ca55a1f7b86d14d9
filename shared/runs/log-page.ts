import {
  type AgentEvent,
  EVENT_SCHEMA_VERSION,
  type ExecutionError,
  type NewEvent,
  type Usage,
} from '#shared/contracts/index.ts';
import { type FoldedEvents, foldDeltas, unfoldDeltas } from './delta-runs.ts';
import { packJson, unpackJson } from './packed-json.ts';

/**
 * `events`: written by a host or by the platform while the run lives · `seal`: takes the run away from an epoch ·
 * `final`: ends the log. A seal or final page is never followed by a page of the epoch it ended.
 */
export const PAGE_KINDS = ['events', 'seal', 'final'] as const;
export type PageKind = (typeof PAGE_KINDS)[number];

/** How an attempt ended; its usage is counted once by run and epoch, however often its page is seen. */
export interface AttemptEnd {
  readonly attempt: number;
  readonly epoch: number;
  readonly endedAt: string;
  /** A terminal status, or `requeued`. */
  readonly outcome: string;
  readonly error?: ExecutionError | undefined;
  readonly usage: Usage;
}

/** One item of a run's append-only log: immutable once put. Pages are numbered from 1 without gaps. */
export interface LogPage {
  readonly index: number;
  readonly kind: PageKind;
  /** Epoch of the host that wrote it; for a seal the epoch it ends; for platform pages the epoch at that moment. */
  readonly epoch: number;
  readonly producer: 'host' | 'platform';
  /** For host pages: number of the first event as the host counts (from 1 per epoch). */
  readonly producerFirst: number;
  /** Sequence number of the first event in the run. */
  readonly first: number;
  readonly events: readonly NewEvent[];
  readonly traceId: string;
  /** On the seal or final page that ended an attempt. */
  readonly attempt?: AttemptEnd | undefined;
}

/** Where the next page goes: known from the page before it. */
export interface LogPosition {
  readonly nextIndex: number;
  readonly nextSequence: number;
}

export const LOG_START: LogPosition = { nextIndex: 1, nextSequence: 1 };

export function positionAfter(page: { index: number; first: number; count: number }): LogPosition {
  return { nextIndex: page.index + 1, nextSequence: page.first + page.count };
}

/** The stored events as clients see them. */
export function toAgentEvents(runId: string, page: LogPage): AgentEvent[] {
  return page.events.map((event, offset) => {
    const sequence = page.first + offset;
    return {
      ...event,
      eventId: `${runId}.${sequence}`,
      schemaVersion: EVENT_SCHEMA_VERSION,
      executionId: runId,
      sequence,
      traceId: page.traceId,
    };
  });
}

/** `besides`: bytes of the rest of the item. */
export function encodeEvents(events: readonly NewEvent[], besides: number): string | Uint8Array {
  return packJson(foldDeltas(events), besides);
}

export function decodeEvents(body: string | Uint8Array): NewEvent[] {
  return unfoldDeltas(unpackJson(body) as FoldedEvents);
}
