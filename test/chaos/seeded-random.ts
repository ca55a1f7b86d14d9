/** Chance that a seed repeats. What the machine does with the kills does not repeat; who is chosen how often does. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 up to, not including, 1. The generator is "mulberry32". */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number; both ends are possible. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.next() * from.length)];
  }

  /** Each name as often as its weight says, as nearly as `count` allows (largest remainder), in random order. */
  deal<K extends string>(weights: Readonly<Record<K, number>>, count: number): K[] {
    const names = Object.keys(weights) as K[];
    const whole = names.reduce((sum, name) => sum + weights[name], 0);
    const shares = names.map((name) => ({ name, exact: (weights[name] / whole) * count }));
    const dealt = shares.flatMap(({ name, exact }) =>
      Array.from({ length: Math.floor(exact) }, () => name),
    );
    const byRemainder = shares.toSorted((a, b) => (b.exact % 1) - (a.exact % 1));
    const rest = byRemainder.slice(0, count - dealt.length).map(({ name }) => name);
    return this.shuffle([...dealt, ...rest]);
  }

  shuffle<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, at: this.next() }))
      .sort((a, b) => a.at - b.at)
      .map(({ item }) => item);
  }
}
