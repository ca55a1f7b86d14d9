import type { PatternAutomaton } from './pattern-automaton.ts';

/** Masks one stream of bytes. Buffers that come out share memory with those that went in. */
export interface MaskStream {
  /** What is certain so far. Only a possible beginning of a secret is held back. */
  push(chunk: Buffer): Buffer[];
  /** The rest. A tail that is half of a secret or more is masked too: the writer died in the middle. */
  end(): Buffer[];
}

interface Span {
  start: number;
  end: number;
}

/** No secrets: nothing to look for, nothing to hold back. */
export const openStream: MaskStream = {
  push: (chunk) => (chunk.length === 0 ? [] : [chunk]),
  end: () => [],
};

/**
 * Positions count from the start of the current chunk; negative ones are bytes of earlier chunks. Those
 * bytes are not kept: what is not yet emitted is always a prefix of a pattern, which the automaton knows.
 *
 * Every decision is taken at one byte from the state at that byte, never at the end of a chunk, so the
 * output is the same however the input is cut.
 */
export class SecretMaskStream implements MaskStream {
  readonly #automaton: PatternAutomaton;
  readonly #replacement: Buffer;
  readonly #shortestTail: number;
  #state = 0;
  /** Everything before it has been written, replaced or dropped. Never above 0 between chunks. */
  #emitted = 0;
  /** Matches in order, apart from each other, that a longer match may still swallow. */
  readonly #waiting: Span[] = [];

  constructor(automaton: PatternAutomaton, replacement: Buffer, shortestTail: number) {
    this.#automaton = automaton;
    this.#replacement = replacement;
    this.#shortestTail = shortestTail;
  }

  push(chunk: Buffer): Buffer[] {
    const { fromRoot, depth, matchLength, step } = this.#automaton;
    const output = new Output(this.#automaton.prefix(this.#state), chunk);
    const waiting = this.#waiting;
    let state = this.#state;
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (state === 0) {
        state = fromRoot[byte] as number;
        if (state === 0 && waiting.length === 0) continue;
      } else {
        state = step(state, byte);
      }
      const length = matchLength[state] as number;
      if (length > 0) this.#addMatch(index + 1 - length, index + 1);
      if (waiting.length > 0) this.#settle(output, index + 1 - (depth[state] as number));
    }
    // Nothing before this point can become part of a match any more.
    const certain = chunk.length - (depth[state] as number);
    output.copy(this.#emitted, certain);
    this.#emitted = Math.max(this.#emitted, certain) - chunk.length;
    for (const span of waiting) {
      span.start -= chunk.length;
      span.end -= chunk.length;
    }
    this.#state = state;
    return output.buffers;
  }

  end(): Buffer[] {
    return this.#finish(true);
  }

  /** As `end`, for a text that is whole: its tail is no half of anything. */
  endOfWhole(): Buffer[] {
    return this.#finish(false);
  }

  #finish(mayBeCut: boolean): Buffer[] {
    const { depth, shortest, prefix } = this.#automaton;
    const state = this.#state;
    const output = new Output(prefix(state), Buffer.alloc(0));
    const held = depth[state] as number;
    if (mayBeCut && held >= this.#shortestTail && held * 2 >= (shortest[state] as number)) {
      this.#addMatch(-held, 0);
    }
    this.#settle(output, 0);
    output.copy(this.#emitted, 0);
    this.#emitted = 0;
    this.#state = 0;
    return output.buffers;
  }

  /** Overlapping matches become one replacement; merely adjacent ones stay two. */
  #addMatch(start: number, end: number): void {
    if (start < this.#emitted) {
      // It overlaps a match that is already replaced, and so covers all that wait after it.
      this.#emitted = end;
      this.#waiting.length = 0;
      return;
    }
    const span = { start, end };
    for (let last = this.#waiting.at(-1); last !== undefined && last.end > start; ) {
      span.start = Math.min(span.start, last.start);
      this.#waiting.pop();
      last = this.#waiting.at(-1);
    }
    this.#waiting.push(span);
  }

  /** Replaces the matches that begin at or before `certain`: nothing can start before them any more. */
  #settle(output: Output, certain: number): void {
    for (let first = this.#waiting[0]; first !== undefined && first.start <= certain; ) {
      output.copy(this.#emitted, first.start);
      output.buffers.push(this.#replacement);
      this.#emitted = first.end;
      this.#waiting.shift();
      first = this.#waiting[0];
    }
  }
}

/** Collects slices of the chunk and of the bytes held back before it. */
class Output {
  readonly buffers: Buffer[] = [];
  readonly #before: Buffer;
  readonly #chunk: Buffer;

  constructor(before: Buffer, chunk: Buffer) {
    this.#before = before;
    this.#chunk = chunk;
  }

  copy(from: number, to: number): void {
    if (from >= to) return;
    if (from < 0) {
      const base = this.#before.length;
      this.buffers.push(this.#before.subarray(base + from, base + Math.min(to, 0)));
    }
    if (to > 0) this.buffers.push(this.#chunk.subarray(Math.max(from, 0), to));
  }
}
