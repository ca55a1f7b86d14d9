import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { newDataDir, removeDataDir } from '#test/support/stack-process.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

it('npm start -- --once shows the whole demo run and ends with its outcome', () => {
  const dataDir = newDataDir();
  const { OPENAI_API_KEY: _key, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['local/main.ts', '--once', '--data', dataDir],
    { cwd: PROJECT, env, encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/OFFLINE MODEL/);
  const log = /log of the run: (.+)/.exec(stdout)?.[1] ?? '';
  expect(log).toMatch(/run\.queued → run\.started → .*usage\.updated.* → run\.completed/);
  const [, commands, changes] = /commands: (\d+), file changes: (\d+)/.exec(log) ?? [];
  expect(Number(commands)).toBeGreaterThan(0);
  expect(Number(changes)).toBeGreaterThan(0);
  const [, workdir, file] = /kept in (.+):\n\s+(\S+)/.exec(stdout) ?? [];
  expect(readFileSync(join(workdir ?? '', file ?? ''), 'utf8')).not.toBe('');
  removeDataDir(dataDir);
});

it('refuses a port that is none', () => {
  const refused = spawnSync(process.execPath, ['local/main.ts', '--once', '--port', '99999'], {
    cwd: PROJECT,
    encoding: 'utf8',
  });
  expect(refused.status).toBe(70);
  expect(refused.stderr).toContain('--port must be 1 to 65535');
});
