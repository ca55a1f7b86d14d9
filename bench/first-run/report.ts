import { availableParallelism, cpus, totalmem } from 'node:os';
import { median } from './statistics.ts';

export interface Row {
  readonly what: string;
  readonly peer: string;
  readonly ours: number;
  readonly theirs: number;
  /** Median over the rounds of ours ÷ theirs, each of the same round. */
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
  readonly relation: '≤' | '≥';
  readonly target: number;
}

export function row(
  what: string,
  peer: string,
  ours: readonly number[],
  theirs: readonly number[],
  relation: Row['relation'],
  target: number,
): Row {
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return {
    what,
    peer,
    ours: median(ours),
    theirs: median(theirs),
    ratio: median(ratios),
    lowest: Math.min(...ratios),
    highest: Math.max(...ratios),
    relation,
    target,
  };
}

export function renderTable(rows: readonly Row[], rounds: number): string {
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}, ${process.platform}`;
  return [
    `Machine: ${machine}. Medians of ${rounds} rounds, in each of which all were measured one after the other.`,
    '',
    '| what | peer | NexusDesk | peer | ratio [lowest..highest] | target | |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(renderRow),
  ].join('\n');
}

function renderRow(entry: Row): string {
  const met = entry.relation === '≤' ? entry.ratio <= entry.target : entry.ratio >= entry.target;
  return `| ${[
    entry.what,
    entry.peer,
    figure(entry.ours),
    figure(entry.theirs),
    `${figure(entry.ratio)} [${figure(entry.lowest)}..${figure(entry.highest)}]`,
    `${entry.relation} ${entry.target}`,
    met ? 'met' : '**missed**',
  ].join(' | ')} |`;
}

function figure(value: number): string {
  if (Number.isNaN(value)) return '–';
  return Math.abs(value) >= 1000
    ? Math.round(value).toLocaleString('en')
    : String(Number(value.toPrecision(3)));
}
