import { parseArgs } from 'node:util';
import { newDataDir, removeDataDir } from '#test/support/stack-process.ts';
import { killEverythingOf } from './processes.ts';
import { reportOf } from './report.ts';
import { runChaos } from './run-chaos.ts';

const USAGE = `npm run chaos -- [options]   a load of runs on a real stack while its processes are killed

  --runs <n>         runs of the load (200)
  --kills <n>        kills during it (50)
  --tenants <n>      tenants they belong to (4)
  --concurrency <n>  runs at once; the others wait in the queue (16)
  --followers <n>    event streams open at one time (48)
  --seed <n>         what is chosen, as it was chosen before (random)
  --keep             keep the data folder, also when nothing was wrong`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '200' },
    kills: { type: 'string', default: '50' },
    tenants: { type: 'string', default: '4' },
    concurrency: { type: 'string', default: '16' },
    followers: { type: 'string', default: '48' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const number = (name: 'runs' | 'kills' | 'tenants' | 'concurrency' | 'followers' | 'seed') => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= 0) return value;
  console.error(`--${name} must be a whole number, not ${values[name]}\n\n${USAGE}`);
  process.exit(64);
};

const startedAt = Date.now();
const dataDir = newDataDir();
const options = {
  seed: number('seed'),
  runs: number('runs'),
  kills: number('kills'),
  tenants: number('tenants'),
  concurrency: number('concurrency'),
  followers: number('followers'),
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    killEverythingOf(dataDir);
    console.error(`interrupted; the data folder is left: ${dataDir}`);
    process.exit(130);
  });
}
console.log(`chaos --seed ${options.seed} on ${dataDir}`);
const result = await runChaos({
  ...options,
  dataDir,
  log: (line) =>
    console.log(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s ${line}`),
});
console.log(`\n${reportOf(result)}\n`);
if (result.violations.length === 0) {
  if (!values.keep) removeDataDir(dataDir);
  console.log('nothing lost, nothing doubled');
  process.exit(0);
}
console.error(`${result.violations.length} violations (all in ${dataDir}/chaos-report.json):`);
for (const violation of result.violations.slice(0, 50)) console.error(`  ${violation}`);
process.exit(1);
