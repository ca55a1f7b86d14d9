import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { detectSandbox, removeTree, SANDBOX_KINDS, SandboxError } from '#shared/process/index.ts';
import { claimUser } from '#shared/process/sandbox/user-claim.ts';
import { availableSandboxes } from './support.ts';

const SANDBOXES = await availableSandboxes();
const platform = process.platform;

describe('sandbox detection', () => {
  it('HST-6 takes the strongest kind that works, and says what it tried', async () => {
    const { sandbox, probes } = await detectSandbox({ platform });
    expect(sandbox.kind).toBe(SANDBOXES[0]!.kind);
    expect(probes.at(-1)).toEqual({ kind: sandbox.kind, ok: true, reason: '' });
    expect(probes.map(({ kind }) => kind)).toEqual(SANDBOX_KINDS.slice(0, probes.length));
    for (const { ok, reason } of probes) expect(ok).toBe(reason === '');
  });

  it('tries the preferred kind first', async () => {
    const { sandbox, probes } = await detectSandbox({ platform, preferred: 'process_group' });
    expect(sandbox.kind).toBe('process_group');
    expect(probes).toHaveLength(1);
  });

  it('finds out that a program is there but does not work', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'nexusdesk-fake-'));
    onTestFinished(() => removeTree(folder));
    await chmod(folder, 0o755);
    const bwrapPath = join(folder, 'bwrap');
    await writeFile(
      bwrapPath,
      '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n',
    );
    await chmod(bwrapPath, 0o755);
    const { sandbox, probes } = await detectSandbox({ platform, bwrapPath });
    expect(sandbox.kind).not.toBe('bubblewrap');
    expect(probes[0]).toEqual({
      kind: 'bubblewrap',
      ok: false,
      reason: 'bwrap: No permissions to create new namespace',
    });
    await expect(detectSandbox({ platform, bwrapPath, required: 'bubblewrap' })).rejects.toThrow(
      SandboxError,
    );
  });

  it('never falls back from a required kind', async () => {
    const missing = { platform, bwrapPath: '/nowhere/bwrap', required: 'bubblewrap' } as const;
    await expect(detectSandbox(missing)).rejects.toThrow(/^bubblewrap: /);
    await expect(detectSandbox({ platform: 'darwin', required: 'uid' })).rejects.toThrow(
      'uid: not on darwin',
    );
  });
});

describe.runIf(platform === 'linux')('user ids of runs', () => {
  const range = { first: 61_900, count: 3 };

  it('gives each run its own, and gives it again after its release', async () => {
    const claims = await Promise.all([claimUser(range), claimUser(range), claimUser(range)]);
    expect(new Set(claims.map(({ user }) => user.uid))).toEqual(new Set([61_900, 61_901, 61_902]));
    await expect(claimUser(range)).rejects.toThrow(SandboxError);
    await claims[1]!.release();
    const again = await claimUser(range);
    expect(again.user).toEqual(claims[1]!.user);
    for (const claim of [claims[0]!, claims[2]!, again]) await claim.release();
  });

  it('passes over a user who still has a process', async () => {
    const uid = process.getuid?.() ?? 0;
    const { user, release } = await claimUser({ first: uid, count: 2 });
    expect(user.uid).toBe(uid + 1);
    await release();
  });
});
