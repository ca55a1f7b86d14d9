import type { AgentEvent } from '#shared/contracts/index.ts';

/** An event on its way to the bus. */
export interface BusEvent {
  readonly tenantId: string;
  readonly event: AgentEvent;
}

/**
 * Why the bus did not take an event. `entry`: there is something wrong with the event itself, and no repeat helps ·
 * `busy`: too much at once · `fault`: everything else, a call without an answer included; the event may be out.
 */
export interface BusRefusal {
  /** Its place in the list that was published. */
  readonly index: number;
  readonly cause: 'entry' | 'busy' | 'fault';
  readonly code: string;
}

/**
 * The event bus. Offers events in the order of the list and answers which it did not take; those and only those are to
 * be published again. Behind a refused event, events of the same run are held back, except for those offered in the same
 * call (nine at most). Never throws for what the bus or the network does.
 */
export interface EventBus {
  publish(events: readonly BusEvent[]): Promise<readonly BusRefusal[]>;
}
