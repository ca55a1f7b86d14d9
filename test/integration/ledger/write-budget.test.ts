import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('a run writes 20 units besides its events, and streamed text at most 0.35 per kilobyte', async () => {
  const bench = join(import.meta.dirname, '../../../bench/ledger/count-units.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [bench]);
  const { writeUnits } = JSON.parse(stdout);
  expect(writeUnits.besidesEvents).toMatchObject({
    create: 4,
    claim: 6,
    recordTask: 1,
    claimByHost: 1,
    finish: 8,
    total: 20,
  });
  const { budgetPerKilobyte, ...streams } = writeUnits.streamedText;
  const costs = Object.values<{ perKilobyte: number }>(streams).map((cost) => cost.perKilobyte);
  expect(costs).toHaveLength(4);
  expect(Math.max(...costs)).toBeLessThanOrEqual(budgetPerKilobyte);
});
