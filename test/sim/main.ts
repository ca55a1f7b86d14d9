import { parseOptions, type SimOptions, USAGE } from './run/options.ts';
import { describeFailure, describeTally, missing } from './run/report.ts';
import { runWorkers } from './run/run-workers.ts';

/** `npm run sim`: see `run/options.ts`. Exits 1 when a promise was broken, or too little was seen. */

/** One seed, in this process, with everything that happened. */
async function showSeed(seed: number): Promise<number> {
  const { runSeed } = await import('./run-seed.ts');
  const { trace, ...result } = await runSeed(seed, { keepTrace: true });
  console.log([...trace, JSON.stringify(result, undefined, 2)].join('\n'));
  return result.violation ? 1 : 0;
}

async function runSeeds(options: SimOptions): Promise<number> {
  const startedAt = performance.now();
  const shown = process.stderr.isTTY;
  const tally = await runWorkers(options, ({ seeds, failures }) => {
    if (shown) process.stderr.write(`\r${seeds} seeds, ${failures.length} violations`);
  });
  if (shown) process.stderr.write('\r\x1b[K');
  for (const failure of tally.failures) console.log(`${describeFailure(failure)}\n`);
  console.log(describeTally(tally, performance.now() - startedAt));
  const gaps = options.coverage && tally.failures.length === 0 ? missing(tally) : [];
  for (const gap of gaps) console.log(`never seen: ${gap}`);
  return tally.failures.length + gaps.length > 0 ? 1 : 0;
}

async function main(): Promise<number> {
  let options: SimOptions;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return 2;
  }
  return options.trace ? showSeed(options.from) : runSeeds(options);
}

// Never `process.exit`: what is written to a pipe would be cut off.
process.exitCode = await main();
