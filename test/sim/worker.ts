import { DecisionCoverage } from './run/decision-coverage.ts';
import { addSeed, newTally, type Tally } from './run/tally.ts';
import { runSeed } from './run-seed.ts';

/** `node worker.ts <first> <step> <last> <coverage seeds> <stop at first>`: prints a tally as a line of JSON, now and then. */
const [first = 1, step = 1, last = 1, coverageSeeds = 0, stopAtFirst = 0] = process.argv
  .slice(2)
  .map(Number);
const SEEDS_PER_LINE = 20;

const coverage = new DecisionCoverage();
let counting = coverageSeeds > 0;
if (counting) coverage.start();

let done = 0;
let tally = newTally();
let cpu = process.cpuUsage();
for (let seed = first; seed <= last; seed += step) {
  const result = await runSeed(seed);
  addSeed(tally, result);
  if (result.violation) {
    // Once more, with its trace: what cannot be repeated could not be mended.
    const again = await runSeed(seed, { keepTrace: true });
    tally.failures.push({
      seed,
      ...result.violation,
      replays: again.digest === result.digest,
      trace: again.trace,
    });
  }
  done += 1;
  const isLast = seed + step > last || (stopAtFirst === 1 && tally.failures.length > 0);
  if (counting && (done >= coverageSeeds || isLast)) {
    tally.unseen = coverage.stop() ?? {};
    counting = false;
  }
  if (done % SEEDS_PER_LINE === 0 || isLast || tally.failures.length > 0) print();
  if (isLast) break;
}

function print(): void {
  const used = process.cpuUsage(cpu);
  cpu = process.cpuUsage();
  tally.cpuMs = (used.user + used.system) / 1_000;
  process.stdout.write(`${JSON.stringify(tally satisfies Tally)}\n`);
  tally = newTally();
}
