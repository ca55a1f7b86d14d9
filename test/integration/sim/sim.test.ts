import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** The simulation takes over the timers of its process, so each of these runs in a process of its own. */
const run = promisify(execFile);
const SIM = fileURLToPath(new URL('../../sim/main.ts', import.meta.url));
const SCENARIOS = fileURLToPath(new URL('./kernel-scenarios.ts', import.meta.url));
/** CI machines share their cores; the limit is only there for a simulation that never ends. */
const LIMIT_MS = 30 * 60_000;
const MAX_OUTPUT = 64 * 1024 * 1024;

/** Standard output, whatever the exit code. */
async function sim(...argv: string[]): Promise<{ code: number; output: string }> {
  try {
    const { stdout } = await run(process.execPath, [SIM, ...argv], { maxBuffer: MAX_OUTPUT });
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}` };
  }
}

describe('the simulation', () => {
  it('ORC-2…ORC-7, TRM-1…TRM-7, HST-5: 1,500 seeds break no promise and leave nothing unexplored', {
    timeout: LIMIT_MS,
  }, async () => {
    const { code, output } = await sim('--seeds', '1500');
    expect(output).toMatch(/violations +0\n/);
    expect(output).not.toContain('never seen:');
    expect(code).toBe(0);
  });

  it('replays a seed to the last bit', { timeout: LIMIT_MS }, async () => {
    const [first, second, other] = await Promise.all(
      ['77', '77', '78'].map((seed) => sim('--seed', seed, '--trace')),
    );
    expect(first?.output.split('\n').length).toBeGreaterThan(50);
    expect(second?.output).toBe(first?.output);
    expect(other?.output).not.toBe(first?.output);
  });

  it('refuses arguments it does not know', async () => {
    expect(await sim('--seeds', 'many')).toMatchObject({ code: 2 });
  });
});

describe('its kernel', () => {
  it('depends on the seed alone, drops a crashed actor, and gives each actor its clock', async () => {
    const { stdout } = await run(process.execPath, [SCENARIOS]);
    const seen = JSON.parse(stdout);
    expect(seen.sameSeed[0]).toBe(seen.sameSeed[1]);
    expect(seen.otherSeed).not.toBe(seen.sameSeed[0]);
    expect(seen.crash).toEqual(['interval', 'interval', 'just before']);
    expect(seen.clocks).toEqual([1_000, 1_000, 2_500, 2_500]);
    expect(seen.unhandled).toBe('nobody caught this');
  });
});
