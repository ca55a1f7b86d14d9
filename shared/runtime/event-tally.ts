import { type LossReason, type NewEvent, platformEvent } from '#shared/contracts/index.ts';
import type { QueuedEvent } from './queued-event.ts';

/** A native engine may name its events as it likes. */
const MAX_TYPES = 30;

/** How many events of which types, when: enough to say what is missing without having it. */
export class EventTally {
  #count = 0;
  #bytes = 0;
  #firstProduced = 0;
  #lastProduced = 0;
  #firstAt = '';
  #lastAt = '';
  readonly #types = new Map<string, number>();

  static of(entries: readonly QueuedEvent[]): EventTally {
    const tally = new EventTally();
    for (const entry of entries) tally.add(entry);
    return tally;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add({ event, bytes, produced }: QueuedEvent): void {
    const at = event.timestamp;
    this.#cover({ produced: [produced, produced], at: [at, at] });
    this.#count += 1;
    this.#bytes += bytes;
    this.#addType(event.eventType, 1);
  }

  addAll(other: EventTally): void {
    if (other.#count === 0) return;
    this.#cover({
      produced: [other.#firstProduced, other.#lastProduced],
      at: [other.#firstAt, other.#lastAt],
    });
    this.#count += other.#count;
    this.#bytes += other.#bytes;
    for (const [type, count] of other.#types) this.#addType(type, count);
  }

  /** The event that stands for what was counted. @throws RangeError when nothing was */
  toLostEvent(reason: LossReason, timestamp: string): NewEvent {
    if (this.#count === 0) throw new RangeError('nothing was lost');
    return platformEvent(
      'events.lost',
      {
        reason,
        count: this.#count,
        bytes: this.#bytes,
        firstProduced: this.#firstProduced,
        lastProduced: this.#lastProduced,
        firstAt: this.#firstAt,
        lastAt: this.#lastAt,
        types: Object.fromEntries(this.#types),
      },
      { timestamp },
    );
  }

  /** Losses are not found in the order in which the events were made. */
  #cover({ produced, at }: { produced: [number, number]; at: [string, string] }): void {
    const isFirst = this.#count === 0;
    if (isFirst || produced[0] < this.#firstProduced) this.#firstProduced = produced[0];
    if (isFirst || produced[1] > this.#lastProduced) this.#lastProduced = produced[1];
    if (isFirst || at[0] < this.#firstAt) this.#firstAt = at[0];
    if (isFirst || at[1] > this.#lastAt) this.#lastAt = at[1];
  }

  #addType(type: string, count: number): void {
    const name = this.#types.has(type) || this.#types.size < MAX_TYPES ? type : 'other';
    this.#types.set(name, (this.#types.get(name) ?? 0) + count);
  }
}
