/** Something that is to happen at a moment of virtual time. */
export interface Appointment {
  readonly at: number;
  /** Among equals: given at random by the kernel, so that no order of simultaneous things is taken for granted. */
  readonly rank: number;
  readonly order: number;
  readonly run: () => unknown;
  cancelled: boolean;
}

/** What is to happen, soonest first: a binary heap. */
export class Agenda {
  readonly #heap: Appointment[] = [];

  get size(): number {
    return this.#heap.length;
  }

  add(appointment: Appointment): void {
    const heap = this.#heap;
    let at = heap.push(appointment) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(appointment, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = appointment;
  }

  /** The soonest that was not cancelled. */
  take(): Appointment | undefined {
    for (;;) {
      const first = this.#takeFirst();
      if (!first?.cancelled) return first;
    }
  }

  #takeFirst(): Appointment | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Appointment, b: Appointment): boolean {
  if (a.at !== b.at) return a.at < b.at;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.order < b.order;
}
