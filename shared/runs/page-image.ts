import type { LogPage } from './log-page.ts';
import type { RunRef } from './run-head.ts';

/** A log page as a record of the table's stream tells of it. */
export interface PageImage {
  readonly ref: RunRef;
  readonly index: number;
  /** Undefined when the item cannot be read as a page; `problem` says why. Its name is known all the same. */
  readonly page: LogPage | undefined;
  readonly problem?: unknown;
}
