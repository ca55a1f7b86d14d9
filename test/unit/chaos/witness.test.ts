import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Witness } from '#test/chaos/witness.ts';

const RUN = `run_${'0'.repeat(26)}`;

let witness: Witness;
let root: string;
let engines: ChildProcess[];
beforeEach(async () => {
  witness = await Witness.open();
  root = mkdtempSync(join(tmpdir(), 'nexusdesk-witness-'));
  engines = [];
});
afterEach(async () => {
  for (const engine of engines) killFamily(engine);
  await witness.close();
  rmSync(root, { recursive: true, force: true });
});

/** A shell in the working directory of an attempt that has done its first step and goes on. */
async function startEngine(folder: string): Promise<ChildProcess> {
  const work = join(root, folder, 'work');
  mkdirSync(work, { recursive: true });
  const engine = spawn('/bin/sh', ['-c', `${witness.marks.begin}; echo begun; sleep 600`], {
    cwd: work,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  engines.push(engine);
  await once(engine.stdout ?? engine, 'data');
  return engine;
}

function killFamily({ pid = 0 }: ChildProcess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Gone.
  }
}

it('tells two engines of one run that live at one time', async () => {
  await startEngine(RUN);
  await startEngine(`${RUN}.2`);
  await expect.poll(() => witness.overlaps).toEqual([{ runId: RUN, attempts: [2, 1] }]);
});

it('sees the end of an engine that was killed, and no overlap with its successor', async () => {
  const first = await startEngine(RUN);
  killFamily(first);
  await expect.poll(() => witness.alive()).toEqual([]);
  await startEngine(`${RUN}.2`);
  await expect.poll(() => witness.livesOf(RUN).map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(witness.overlaps).toEqual([]);
  expect(witness.livesOf(RUN)[0]?.endedAt).toBeGreaterThan(0);
});

it('knows which attempt came to the end of its script', async () => {
  await startEngine(`${RUN}.3`);
  const cwd = join(root, `${RUN}.3`, 'work');
  const end = spawn('/bin/sh', ['-c', witness.marks.end], { cwd, stdio: 'ignore' });
  await once(end, 'exit');
  expect(witness.livesOf(RUN)).toMatchObject([{ attempt: 3, reachedEnd: true }]);
});
