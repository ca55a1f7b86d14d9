import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import type { Tally } from './tally.ts';

const DECIDE = new URL('../../../shared/runs/decide.ts', import.meta.url);

/** What no run of any seed can reach: a value that the compiler has ruled out. */
const IMPOSSIBLE = /assertNever|default:/;

/** Which parts of the decision function ran, as the engine itself counts blocks. */
export class DecisionCoverage {
  readonly #session = new Session();

  start(): void {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Counting makes everything slower: it is ended as soon as enough was seen. */
  stop(): Tally['unseen'] {
    const unseen: [number, number][] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      const script = result.find(({ url }) => url === DECIDE.href);
      for (const { ranges } of script?.functions ?? []) {
        for (const { count, startOffset, endOffset } of ranges) {
          if (count === 0) unseen.push([startOffset, endOffset]);
        }
      }
    });
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
    return unseen;
  }
}

/** For people: the lines that never ran. */
export function unseenLines(unseen: NonNullable<Tally['unseen']>): string[] {
  const source = readFileSync(fileURLToPath(DECIDE), 'utf8');
  return unseen
    .map(([from, to]) => ({ text: source.slice(from, to).trim(), from }))
    .filter(({ text }) => /\w/.test(text) && !IMPOSSIBLE.test(text))
    .map(({ text, from }) => {
      const line = source.slice(0, from).split('\n').length;
      return `shared/runs/decide.ts:${line}  ${text.split('\n')[0]}`;
    });
}
