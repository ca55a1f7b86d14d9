import { TRANSITIONS } from '#shared/runs/index.ts';
import { INVARIANTS } from '../check/violation.ts';
import { FAULT_KINDS } from '../world/faults.ts';
import { unseenLines } from './decision-coverage.ts';
import type { FailedSeed, Tally } from './tally.ts';

/** Of a trace, without being asked for all of it. */
const LAST_LINES = 60;

export function describeTally(tally: Tally, wallMs: number): string {
  const { totals } = tally;
  const rows: [string, string][] = [
    ['seeds', `${tally.seeds}, ${rate(tally.seeds, wallMs)} per second`],
    ['CPU per seed', `${(tally.cpuMs / tally.seeds).toFixed(1)} ms`],
    ['virtual time', `${((totals.virtualMs ?? 0) / 3_600_000).toFixed(1)} hours`],
    ['runs', `${totals.runs}: ${counts(tally.endings)}`],
    ['calls of services', `${totals.calls}`],
    ['requests over HTTP', `${totals.requests}`],
    ['invocations', `${totals.invocations}`],
    ['engines started', `${totals.engines}`],
    ['hosts that died', `${totals.hostDeaths}`],
    ['violations', String(tally.failures.length)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    ...rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    '',
    'faults',
    ...columns(FAULT_KINDS.map((kind) => `${kind} ${tally.faults[kind] ?? 0}`)),
    '',
    'transitions',
    ...columns(Object.entries(tally.transitions).map(([name, count]) => `${name} ${count}`)),
  ].join('\n');
}

/** What enough seeds must have seen: a simulation that explores nothing finds nothing. */
export function missing(tally: Tally): string[] {
  const transitions = Object.entries(TRANSITIONS).flatMap(([from, targets]) =>
    targets.map((to) => `${from} → ${to}`),
  );
  return [
    ...transitions.filter((step) => !tally.transitions[step]).map((step) => `transition ${step}`),
    ...FAULT_KINDS.filter((kind) => !tally.faults[kind]).map((kind) => `fault ${kind}`),
    ...unseenLines(tally.unseen ?? {}).map((line) => `decision ${line}`),
  ];
}

export function describeFailure(failure: FailedSeed): string {
  const { seed, invariant, message, replays, trace } = failure;
  const meaning = INVARIANTS[invariant as keyof typeof INVARIANTS] ?? '';
  return [
    `seed ${seed} violates "${invariant}": ${meaning}`,
    `  ${message}`,
    ...(replays ? [] : ['  AND IT DOES NOT REPLAY: something in it depends on more than the seed']),
    ...trace.slice(-LAST_LINES).map((line) => `  ${line}`),
    `  all of it: npm run sim -- --seed ${seed} --trace`,
  ].join('\n');
}

function counts(of: Readonly<Record<string, number>>): string {
  return Object.entries(of)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}

function rate(count: number, ms: number): string {
  return (count / (ms / 1_000)).toFixed(1);
}

function columns(cells: readonly string[]): string[] {
  const PER_LINE = 4;
  const width = Math.max(0, ...cells.map((cell) => cell.length)) + 2;
  const lines: string[] = [];
  for (let at = 0; at < cells.length; at += PER_LINE) {
    lines.push(
      `  ${cells
        .slice(at, at + PER_LINE)
        .map((cell) => cell.padEnd(width))
        .join('')}`.trimEnd(),
    );
  }
  return lines;
}
