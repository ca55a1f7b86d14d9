import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';

export interface SimOptions {
  /** The first seed, and how many follow it. */
  readonly from: number;
  readonly seeds: number;
  readonly workers: number;
  /** One seed, with its whole trace. */
  readonly trace: boolean;
  readonly stopAtFirst: boolean;
  /** Whether every transition and decision must have been seen. */
  readonly coverage: boolean;
}

export const USAGE = `npm run sim -- [--seeds N] [--from S] [--workers W] [--stop-at-first]
npm run sim -- --seed S [--trace]    one seed, with what happened in it`;

/** @throws TypeError for an argument that is none */
export function parseOptions(argv: readonly string[]): SimOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: 'string' },
      from: { type: 'string' },
      seed: { type: 'string' },
      workers: { type: 'string' },
      trace: { type: 'boolean', default: false },
      'stop-at-first': { type: 'boolean', default: false },
    },
  });
  const single = values.seed === undefined ? undefined : whole('seed', values.seed);
  const seeds = single === undefined ? whole('seeds', values.seeds ?? '1000') : 1;
  return {
    from: single ?? whole('from', values.from ?? '1'),
    seeds,
    workers: Math.min(seeds, whole('workers', values.workers ?? String(availableParallelism()))),
    trace: values.trace,
    stopAtFirst: values['stop-at-first'],
    coverage: seeds >= 1_000,
  };
}

function whole(name: string, text: string): number {
  if (!/^[1-9][0-9]{0,9}$/.test(text)) throw new TypeError(`--${name} ${text} is no whole number`);
  return Number(text);
}
