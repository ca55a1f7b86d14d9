import type { UsageFact } from './usage-fact.ts';
import type { UsageTally } from './usage-tally.ts';

export interface AgentDay {
  readonly day: string;
  /** Absent for the runs without an agent. */
  readonly agentId: string | undefined;
  readonly tally: UsageTally;
}

/** Totals per tenant and day, and per agent and day. */
export interface UsageStore {
  /**
   * Counts facts that were not counted before; a repeat, in any batch and order, changes nothing. After an error some
   * may have been counted: repeat all of them. Answers how many were new.
   */
  fold(facts: readonly UsageFact[]): Promise<number>;
  /** Days from one to the other, both included, oldest first; those without anything are left out. */
  days(tenantId: string, from: string, to: string): Promise<{ day: string; tally: UsageTally }[]>;
  /** The same by agent; undefined when there are more than `limit`. */
  agentDays(
    tenantId: string,
    from: string,
    to: string,
    limit: number,
  ): Promise<AgentDay[] | undefined>;
}
