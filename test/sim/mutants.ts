import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { MUTANTS, type Mutant } from './mutants/list.ts';
import { runWorkers } from './run/run-workers.ts';
import type { FailedSeed } from './run/tally.ts';

/**
 * `npm run mutants [name…]`: breaks each guard in turn and lets the simulation look for it. Exits 1 when one survives:
 * then either the guard guards nothing, or the simulation does not see what it should.
 */

const PATCH = fileURLToPath(new URL('./mutants/patch.ts', import.meta.url));
const MOST_SEEDS = 2_000;

const names = process.argv.slice(2);
const unknown = names.filter((name) => !MUTANTS.some((mutant) => mutant.name === name));
if (unknown.length > 0) {
  console.error(`no such mutant: ${unknown.join(', ')}`);
  process.exit(2);
}
const chosen = names.length > 0 ? MUTANTS.filter(({ name }) => names.includes(name)) : MUTANTS;
const waiting = [...chosen];
let survivors = 0;

/** Mutants share the cores: each looks in one process, at one seed after the other. */
async function takeTurns(): Promise<void> {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
    const failure = await hunt(mutant);
    if (!failure) survivors += 1;
    console.log(
      [
        mutant.name.padEnd(28),
        failure ? `seed ${String(failure.seed).padStart(4)}` : 'SURVIVES ',
        (failure?.invariant ?? '').padEnd(20),
        mutant.guard,
      ].join('  '),
    );
  }
}

async function hunt(mutant: Mutant): Promise<FailedSeed | undefined> {
  const tally = await runWorkers(
    { from: 1, seeds: MOST_SEEDS, workers: 1, trace: false, stopAtFirst: true, coverage: false },
    undefined,
    ['--import', PATCH],
    { SIM_MUTANT: mutant.name },
  );
  return tally.failures[0];
}

await Promise.all(Array.from({ length: availableParallelism() }, takeTurns));
console.log(`${chosen.length - survivors} of ${chosen.length} caught`);
process.exitCode = survivors > 0 ? 1 : 0;
