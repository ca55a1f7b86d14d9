/**
 * Aho–Corasick automaton over bytes. The shallow states are a dense table, because ordinary output never
 * leaves them; deeper ones are linked children, so that a 3 KB key in all its forms costs a few megabytes
 * and not a kilobyte for each of its bytes.
 */
export interface PatternAutomaton {
  /** The state after `byte`; 0 is the root, where no pattern has begun. */
  step(state: number, byte: number): number;
  /** First step from the root, indexed by byte; lets a caller skip ordinary bytes without a call. */
  readonly fromRoot: Int32Array;
  /** Bytes of the longest pattern prefix that ends here: nothing before it can still become a match. */
  readonly depth: Int32Array;
  /** Length of the longest pattern that ends exactly here, 0 for none. */
  readonly matchLength: Int32Array;
  /** Length of the shortest pattern that passes through this state. */
  readonly shortest: Int32Array;
  /** The bytes that lead from the root to `state`, so that nobody needs to store them. */
  prefix(state: number): Buffer;
}

/** States with a row in the dense table, 1 KB each: all of the first two levels of a usual set of secrets. */
const DENSE_STATES = 4_096;

class Trie {
  readonly firstChild = [0];
  readonly nextSibling = [0];
  readonly byte = [0];
  readonly parent = [0];
  readonly depth = [0];
  readonly matchLength = [0];
  readonly shortest = [0];
  /** Index of one pattern that passes through the state. */
  readonly pattern = [0];

  childOf(state: number, byte: number): number {
    let child = this.firstChild[state] ?? 0;
    while (child !== 0 && this.byte[child] !== byte) child = this.nextSibling[child] ?? 0;
    return child;
  }

  add(pattern: Buffer, index: number): void {
    let state = 0;
    for (const byte of pattern) {
      const known = this.childOf(state, byte);
      state = known === 0 ? this.#grow(state, byte, index, pattern.length) : known;
      this.shortest[state] = Math.min(this.shortest[state] ?? pattern.length, pattern.length);
    }
    this.matchLength[state] = pattern.length;
  }

  #grow(parent: number, byte: number, index: number, length: number): number {
    const state = this.byte.length;
    this.firstChild.push(0);
    this.nextSibling.push(this.firstChild[parent] ?? 0);
    this.firstChild[parent] = state;
    this.byte.push(byte);
    this.parent.push(parent);
    this.depth.push((this.depth[parent] ?? 0) + 1);
    this.matchLength.push(0);
    this.shortest.push(length);
    this.pattern.push(index);
    return state;
  }
}

export function buildAutomaton(patterns: readonly Buffer[]): PatternAutomaton {
  const trie = new Trie();
  patterns.forEach((pattern, index) => {
    trie.add(pattern, index);
  });
  const size = trie.byte.length;
  const firstChild = Int32Array.from(trie.firstChild);
  const nextSibling = Int32Array.from(trie.nextSibling);
  const byteOf = Uint8Array.from(trie.byte);
  const depth = Int32Array.from(trie.depth);
  const matchLength = Int32Array.from(trie.matchLength);
  const fallback = new Int32Array(size);
  const order = breadthFirst(firstChild, nextSibling, size);
  /** Row of a state in `dense`; the root has row 0, states without a row have -1. */
  const row = new Int32Array(size).fill(-1);
  row[0] = 0;
  const dense = new Int32Array(Math.min(size, DENSE_STATES) * 256);

  const step = (from: number, byte: number): number => {
    let state = from;
    let own = row[state] as number;
    while (own < 0) {
      let child = firstChild[state] as number;
      while (child !== 0 && byteOf[child] !== byte) child = nextSibling[child] as number;
      if (child !== 0) return child;
      state = fallback[state] as number;
      own = row[state] as number;
    }
    return dense[own * 256 + byte] as number;
  };
  const fillRow = (state: number, index: number): void => {
    const inherited = state === 0 ? 0 : at(row, at(fallback, state)) * 256;
    if (state !== 0) dense.copyWithin(index * 256, inherited, inherited + 256);
    for (let child = at(firstChild, state); child !== 0; child = at(nextSibling, child)) {
      dense[index * 256 + at(byteOf, child)] = child;
    }
    row[state] = index;
  };

  fillRow(0, 0);
  // Breadth first: a state's fallback is shorter than the state, so its row is ready when it is needed.
  order.forEach((state, index) => {
    const parent = trie.parent[state] ?? 0;
    if (parent !== 0) fallback[state] = step(at(fallback, parent), at(byteOf, state));
    matchLength[state] = Math.max(at(matchLength, state), at(matchLength, at(fallback, state)));
    if (index + 1 < DENSE_STATES) fillRow(state, index + 1);
  });

  return {
    step,
    fromRoot: dense.subarray(0, 256),
    depth,
    matchLength,
    shortest: Int32Array.from(trie.shortest),
    prefix: (state) =>
      state === 0
        ? Buffer.alloc(0)
        : (patterns[trie.pattern[state] ?? 0] as Buffer).subarray(0, depth[state]),
  };
}

function at(array: Int32Array | Uint8Array, index: number): number {
  return array[index] as number;
}

function breadthFirst(firstChild: Int32Array, nextSibling: Int32Array, size: number): Int32Array {
  const order = new Int32Array(size);
  let length = 0;
  const enqueueChildrenOf = (state: number): void => {
    for (let child = at(firstChild, state); child !== 0; child = at(nextSibling, child)) {
      order[length] = child;
      length += 1;
    }
  };
  enqueueChildrenOf(0);
  for (let index = 0; index < length; index += 1) enqueueChildrenOf(at(order, index));
  return order.subarray(0, length);
}
