import type { Priority } from '#shared/contracts/index.ts';

/** A run that waits for a slot of its tenant. */
export interface Waiter {
  readonly tenantId: string;
  readonly runId: string;
  readonly priority: Priority;
  readonly createdAt: string;
  /** After this it waits no more. */
  readonly deadlineAt: string;
}

/**
 * Who waits for a slot of a tenant: higher priority first, then the older run. The list only says whose turn it is; the
 * ledger says what a run may do. An entry whose run has gone on is harmless and removed when its turn comes.
 */
export interface WaitList {
  /** Repeats change nothing. Answers whether it was not there before. */
  join(waiter: Waiter): Promise<boolean>;
  leave(waiter: Waiter): Promise<void>;
  /** Whose turn it is. */
  first(tenantId: string): Promise<Waiter | undefined>;
}

const RANKS: Readonly<Record<Priority, number>> = { high: 0, normal: 1, low: 2 };

/** Sorts as the turns come. */
export function turnOf({ priority, createdAt, runId }: Waiter): string {
  return `${RANKS[priority]}#${createdAt}#${runId}`;
}
