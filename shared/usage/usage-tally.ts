import {
  TERMINAL_STATUSES,
  USAGE_KEYS,
  type Usage,
  type UsageTotals,
} from '#shared/contracts/index.ts';
import type { UsageFact } from './usage-fact.ts';

/**
 * Usage as named whole numbers, which can be added up in any order without a rounding error: sums, and beside each how
 * many attempts reported it. Cost is in billionths of a dollar. Names are the attributes of the stored totals.
 */
export type UsageTally = Readonly<Record<string, number>>;

type UsageKey = (typeof USAGE_KEYS)[number];

const NANOS_PER_DOLLAR = 1e9;
/** More than an attempt can really use: an engine that reports nonsense must not make a total that cannot be read. */
const MOST = { count: 1e12, nanoDollars: 1e14, activeMs: 1e10 };

const ATTEMPTS = 'attempts';
const ACTIVE = 'activeMs';
const runsName = (status: string) => `runs_${status}`;
const sumName = (key: UsageKey) => (key === 'costUsd' ? 'sum_costNanoUsd' : `sum_${key}`);
const reportedName = (key: UsageKey) => `by_${key}`;

export const TALLY_NAMES: readonly string[] = [
  ATTEMPTS,
  ACTIVE,
  ...TERMINAL_STATUSES.map(runsName),
  ...USAGE_KEYS.flatMap((key) => [sumName(key), reportedName(key)]),
];

/** What one fact adds. */
export function tallyOf({ attempt, outcome }: UsageFact): UsageTally {
  const tally: Record<string, number> = {};
  if (outcome) tally[runsName(outcome)] = 1;
  if (!attempt) return tally;
  tally[ATTEMPTS] = 1;
  tally[ACTIVE] = Math.min(MOST.activeMs, Math.max(0, Math.round(attempt.activeMs ?? 0)));
  for (const key of USAGE_KEYS) {
    const value = attempt.usage[key];
    if (value === undefined) continue;
    tally[reportedName(key)] = 1;
    tally[sumName(key)] =
      key === 'costUsd'
        ? Math.min(MOST.nanoDollars, Math.round(value * NANOS_PER_DOLLAR))
        : Math.min(MOST.count, value);
  }
  return tally;
}

export function sumOf(tallies: Iterable<UsageTally>): UsageTally {
  const sum: Record<string, number> = {};
  for (const tally of tallies) {
    for (const [name, value] of Object.entries(tally)) sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}

/** As the API tells it. Nothing known is nothing said: an absent sum is unknown, not zero. */
export function totalsOf(tally: UsageTally): UsageTotals {
  const attempts = tally[ATTEMPTS] ?? 0;
  const usage: Usage = {};
  const unreported: UsageTotals['unreported'] = {};
  for (const key of USAGE_KEYS) {
    const reported = tally[reportedName(key)] ?? 0;
    const sum = tally[sumName(key)] ?? 0;
    if (reported > 0) usage[key] = key === 'costUsd' ? sum / NANOS_PER_DOLLAR : sum;
    if (reported < attempts) unreported[key] = attempts - reported;
  }
  return {
    runs: Object.fromEntries(
      TERMINAL_STATUSES.flatMap((status) => {
        const ended = tally[runsName(status)];
        return ended ? [[status, ended]] : [];
      }),
    ),
    attempts,
    activeMs: tally[ACTIVE] ?? 0,
    usage,
    unreported,
  };
}
