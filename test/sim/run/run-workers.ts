import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SimOptions } from './options.ts';
import { addTally, newTally, type Tally } from './tally.ts';

const WORKER = fileURLToPath(new URL('../worker.ts', import.meta.url));
/** Each worker counts blocks of the decision function for so many of its seeds. */
const COVERAGE_SEEDS = 500;
const MOST_FAILURES = 20;

/** Runs the seeds on all cores, each process every n-th of them. */
export async function runWorkers(
  options: SimOptions,
  onProgress: (tally: Tally) => void = () => undefined,
  nodeArguments: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Tally> {
  const tally = newTally();
  const children: ChildProcess[] = [];
  const stopAll = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  let enough = false;
  const one = async (index: number) => {
    const child = spawn(
      process.execPath,
      [
        ...nodeArguments,
        WORKER,
        options.from + index,
        options.workers,
        options.from + options.seeds - 1,
        options.coverage ? COVERAGE_SEEDS : 0,
        options.stopAtFirst ? 1 : 0,
      ].map(String),
      {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          ...environment,
          AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
        },
      },
    );
    children.push(child);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    for await (const line of createInterface({ input: child.stdout })) {
      addTally(tally, JSON.parse(line) as Tally);
      onProgress(tally);
      if (tally.failures.length >= (options.stopAtFirst ? 1 : MOST_FAILURES) && !enough) {
        enough = true;
        stopAll();
      }
    }
    const code = await ended;
    if (code !== 0 && !enough) throw new Error(`a worker ended with ${code}`);
  };
  try {
    await Promise.all(Array.from({ length: options.workers }, (_, index) => one(index)));
  } finally {
    stopAll();
  }
  return tally;
}
