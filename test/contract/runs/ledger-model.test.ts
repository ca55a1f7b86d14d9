import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import { openEmbeddedTable } from '#test/support/embedded-table.ts';
import { BEGINNING, TENANT_COMMANDS } from './model/commands.ts';
import { TenantModel } from './model/run-model.ts';
import { TenantUnderTest } from './model/tenant-under-test.ts';

let embedded: Awaited<ReturnType<typeof openEmbeddedTable>>;
beforeAll(async () => {
  embedded = await openEmbeddedTable();
});
afterAll(() => embedded.close());

/** The same ones on every machine; a failure prints the commands that lead to it, shortened. */
const SEED = 20261201;
const RUNS = 25;

it('TRM-1 TRM-2 TRM-4 B104 B106 B113 the ledger does what a plain model does, in any order of writes, stale ones and repeats among them', async () => {
  const ledger = openDynamoRunLedger(embedded.table);
  await fc.assert(
    fc.asyncProperty(
      fc.commands(TENANT_COMMANDS, { maxCommands: 60, size: 'max' }),
      async (commands) => {
        const model = new TenantModel(2);
        const real = new TenantUnderTest(ledger);
        for (const command of BEGINNING) await command.run(model, real);
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await real.checkAll(model);
      },
    ),
    { numRuns: RUNS, seed: SEED, endOnFailure: false },
  );
});
