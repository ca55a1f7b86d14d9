import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runChaos } from '#test/chaos/run-chaos.ts';
import { newDataDir } from '#test/support/stack-process.ts';

// `npm run chaos` does the same with 200 runs and 50 kills.
it('ORC-1 ORC-4 ORC-5 TRM-3 HST-5 loses and doubles nothing while its processes are killed', {
  timeout: 400_000,
}, async () => {
  const dataDir = newDataDir();
  const lines: string[] = [];
  const result = await runChaos({
    seed: 3,
    runs: 20,
    kills: 6,
    tenants: 2,
    concurrency: 10,
    followers: 20,
    dataDir,
    log: (line) => lines.push(line),
  });
  expect({ violations: result.violations, lines: [] }).toEqual({
    violations: [],
    // What happened is worth reading only then.
    lines: result.violations.length > 0 ? lines : [],
  });
  expect(result.stored).toHaveLength(20);
  expect(result.kills).toHaveLength(6);
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});
