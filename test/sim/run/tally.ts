import type { SeedResult } from '../run-seed.ts';

type Counts = Record<string, number>;

export interface FailedSeed {
  readonly seed: number;
  readonly invariant: string;
  readonly message: string;
  /** The same again, to the last bit. */
  readonly replays: boolean;
  readonly trace: readonly string[];
}

/** What many seeds came to. */
export interface Tally {
  seeds: number;
  cpuMs: number;
  totals: Counts;
  faults: Counts;
  transitions: Counts;
  endings: Counts;
  failures: FailedSeed[];
  /** Parts of the decision function that never ran: by file, as offsets in its source. */
  unseen: Readonly<Record<string, Ranges>> | undefined;
}

const SUMMED = [
  'steps',
  'calls',
  'requests',
  'invocations',
  'virtualMs',
  'runs',
  'hostDeaths',
  'engines',
] as const satisfies readonly (keyof SeedResult)[];

export function newTally(): Tally {
  return {
    seeds: 0,
    cpuMs: 0,
    totals: {},
    faults: {},
    transitions: {},
    endings: {},
    failures: [],
    unseen: undefined,
  };
}

export function addSeed(tally: Tally, result: SeedResult): void {
  tally.seeds += 1;
  for (const name of SUMMED) add(tally.totals, { [name]: result[name] });
  add(tally.faults, result.faults);
  add(tally.transitions, result.transitions);
  add(tally.endings, result.endings);
}

export function addTally(tally: Tally, other: Tally): void {
  tally.seeds += other.seeds;
  tally.cpuMs += other.cpuMs;
  for (const name of ['totals', 'faults', 'transitions', 'endings'] as const) {
    add(tally[name], other[name]);
  }
  tally.failures.push(...other.failures);
  if (!other.unseen) return;
  const mine = tally.unseen;
  tally.unseen = Object.fromEntries(
    Object.entries(other.unseen).map(([file, ranges]) => [
      file,
      mine ? overlap(mine[file] ?? [], ranges) : ranges,
    ]),
  );
}

function add(counts: Counts, more: Readonly<Counts>): void {
  for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count;
}

type Ranges = readonly (readonly [from: number, to: number])[];

function overlap(some: Ranges, others: Ranges): [number, number][] {
  return some.flatMap(([from, to]) =>
    others.flatMap(([start, end]): [number, number][] => {
      const both: [number, number] = [Math.max(from, start), Math.min(to, end)];
      return both[0] < both[1] ? [both] : [];
    }),
  );
}
