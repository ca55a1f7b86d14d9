import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { fileURLToPath } from 'node:url';
import type { Tally } from './tally.ts';

/** The decision function, its table, and its rule for retries. */
const FILES = ['decide', 'precedence', 'retry'].map((name) => `shared/runs/${name}.ts`);
const ROOT = new URL('../../../', import.meta.url);

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
    const unseen: Record<string, [number, number][]> = {};
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      for (const file of FILES) {
        const script = result.find(({ url }) => url === new URL(file, ROOT).href);
        if (!script) throw new Error(`${file} never ran`);
        unseen[file] = script.functions
          .flatMap(({ ranges }) => ranges)
          .filter(({ count }) => count === 0)
          .map(({ startOffset, endOffset }) => [startOffset, endOffset]);
      }
    });
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
    return unseen;
  }
}

/** For people: the lines that never ran. */
export function unseenLines(unseen: NonNullable<Tally['unseen']>): string[] {
  return Object.entries(unseen).flatMap(([file, ranges]) => {
    const source = readFileSync(fileURLToPath(new URL(file, ROOT)), 'utf8');
    return ranges
      .map(([from, to]) => ({ text: source.slice(from, to).trim(), from }))
      .filter(({ text }) => /\w/.test(text) && !IMPOSSIBLE.test(text))
      .map(({ text, from }) => {
        const line = source.slice(0, from).split('\n').length;
        return `${file}:${line}  ${text.split('\n')[0]}`;
      });
  });
}
