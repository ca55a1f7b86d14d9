/** Index changes that wait for their propagation, as those of AWS's global indexes do, which are read eventually. */
export class HeldIndexWrites {
  readonly #lags: () => boolean;
  readonly #held: { readonly item: string; readonly write: () => void }[] = [];
  readonly #heldOf = new Map<string, number>();

  constructor(lags: () => boolean = () => false) {
    this.#lags = lags;
  }

  get count(): number {
    return this.#held.length;
  }

  /** Writes now, or holds back what lags or comes after something of the same item that is held back. */
  write(item: string, write: () => void): void {
    const earlier = this.#heldOf.get(item) ?? 0;
    if (earlier === 0 && !this.#lags()) {
      write();
      return;
    }
    this.#held.push({ item, write });
    this.#heldOf.set(item, earlier + 1);
  }

  propagate(limit = Number.POSITIVE_INFINITY): number {
    const due = this.#held.splice(0, Math.min(limit, this.#held.length));
    for (const { item, write } of due) {
      write();
      const left = (this.#heldOf.get(item) ?? 0) - 1;
      if (left > 0) this.#heldOf.set(item, left);
      else this.#heldOf.delete(item);
    }
    return due.length;
  }
}
