import { parseOptions, USAGE } from './run/options.ts';
import { describeFailure, describeTally, missing } from './run/report.ts';
import { runWorkers } from './run/run-workers.ts';

/** `npm run sim`: see `run/options.ts`. Exits 1 when a promise was broken, or too little was seen. */

let options: ReturnType<typeof parseOptions>;
try {
  options = parseOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  process.exit(2);
}

if (options.trace) {
  const { runSeed } = await import('./run-seed.ts');
  const { trace, ...result } = await runSeed(options.from, { keepTrace: true });
  for (const line of trace) console.log(line);
  console.log(JSON.stringify(result, undefined, 2));
  process.exit(result.violation ? 1 : 0);
}

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
process.exitCode = tally.failures.length + gaps.length > 0 ? 1 : 0;
