import type { RunRef } from '#shared/runs/index.ts';

/** What was given up of a run: from this page on. `code` says why. */
export interface GivenUpPages {
  readonly ref: RunRef;
  readonly fromPage: number;
  readonly code: string;
}

/**
 * Where a consumer of the table's stream puts what it gives up: a queue with an alarm, for people and for the redrive.
 * What the consumer could not even say itself is put there by the event source, by its place in the stream.
 */
export interface StreamFailures {
  report(pages: GivenUpPages): Promise<void>;
}

/** Pages of a run by their numbers; `toPage` left out: through the end of its log. */
export interface PageRange {
  readonly ref: RunRef;
  readonly fromPage: number;
  readonly toPage?: number;
}

/** What one message of such a queue is about, as names of what is in the table. */
export type FailureNotice = {
  /** The same when it comes again. */
  readonly id: string;
  /** Takes the message out of the queue. Left alone, it comes again after a while. */
  readonly done: () => Promise<void>;
} & (
  | { readonly kind: 'pages'; readonly ranges: readonly PageRange[] }
  /** Its place has left the stream: nothing tells any more which runs it was about, but for the time. */
  | { readonly kind: 'lost'; readonly detail: string }
  | { readonly kind: 'unknown'; readonly detail: string }
);

/** The redrive's end of such a queue. */
export interface FailureInbox {
  /** Some messages, or none when there are none now. */
  take(): Promise<FailureNotice[]>;
  /** How many messages wait, about. */
  waiting(): Promise<number>;
}
