import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  newDataDir,
  removeDataDir,
  runToEnd,
  type StackProcess,
  startStackProcess,
} from '#test/support/stack-process.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const PATIENCE = { timeout: 30_000 };

let stack: StackProcess;
beforeAll(async () => {
  stack = await startStackProcess(newDataDir());
});
afterAll(async () => {
  await stack.stop();
  removeDataDir(stack.dataDir);
});

/** What an operator types; its answer and exit code. */
async function redrive(...args: string[]) {
  const command = ['local/redrive.ts', ...args, '--data', stack.dataDir];
  const { stdout, code } = await promisify(execFile)(process.execPath, command, { cwd: PROJECT })
    .then((ended) => ({ ...ended, code: 0 }))
    .catch((error: { stdout: string; code: number }) => error);
  return { code, answer: JSON.parse(stdout || '{}') as Record<string, unknown> };
}

const engine = { id: 'local_test' };

describe('on the local stack', () => {
  it('TRM-5 what runs used shows up in the usage of their tenant, once, also after a redrive', async () => {
    const { run } = await runToEnd(stack, {
      engine,
      input: { prompt: 'hello' },
      agentId: 'greeter',
    });
    await runToEnd(stack, { engine, input: { prompt: 'hello' } });
    const used = async () => (await stack.client.getUsage({ groupBy: 'agent' })).rows;
    await vi.waitFor(async () => {
      const runs = { completed: 1 };
      expect(await used()).toMatchObject([{ runs }, { agentId: 'greeter', runs }]);
    }, PATIENCE);
    const counted = await used();
    expect(counted[0]?.activeMs).toBeGreaterThan(0);

    const again = await redrive('run', 'dev', run.runId);
    expect(again).toMatchObject({
      code: 0,
      answer: { runs: [{ tenantId: 'dev', runId: run.runId }], complete: true },
    });
    expect(await used()).toEqual(counted);
  });

  it('TRM-6 an operator sees that nothing is held back, and is told what is wrong with a command', async () => {
    expect(await redrive('list')).toEqual({
      code: 0,
      answer: {
        runs: [],
        parked: [],
        waiting: { outbox: 0, usage: 0 },
        unresolved: [],
        complete: true,
      },
    });
    expect((await redrive('run', 'dev', 'no-run')).code).toBe(70);
    expect((await redrive('everything')).code).toBe(64);
  });
});
