import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDiskSpool } from '#shared/runtime/index.ts';

describe('disk spool', () => {
  let parent: string;
  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'spool-test-'));
  });
  afterEach(() => rmSync(parent, { recursive: true, force: true }));

  const folder = () => join(parent, readdirSync(parent)[0] ?? 'none');

  it('gives back what was written last, and forgets what was removed', async () => {
    const spool = openDiskSpool(parent);
    await spool.write('1', 'first');
    await spool.write('2', 'ü');
    await spool.write('1', 'again');
    expect([await spool.read('1'), await spool.read('2')]).toEqual(['again', 'ü']);
    await spool.remove('1');
    await spool.remove('1');
    await expect(spool.read('1')).rejects.toThrow();
    expect(readdirSync(folder())).toEqual(['2']);
  });

  it('is private', async () => {
    const spool = openDiskSpool(parent);
    await spool.write('1', 'x');
    expect(statSync(folder()).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder(), '1')).mode & 0o777).toBe(0o600);
  });

  it('leaves nothing behind, and makes nothing when nothing is written', async () => {
    const unused = openDiskSpool(parent);
    await unused.remove('1');
    await unused.discard();
    expect(readdirSync(parent)).toEqual([]);
    const used = openDiskSpool(parent);
    await used.write('1', 'x');
    const made = folder();
    await used.discard();
    expect(existsSync(made)).toBe(false);
  });

  it('keeps two hosts apart', async () => {
    const [one, other] = [openDiskSpool(parent), openDiskSpool(parent)];
    await one.write('1', 'one');
    await other.write('1', 'other');
    expect(await one.read('1')).toBe('one');
  });

  it('fails where it cannot write, and can still be discarded', async () => {
    const spool = openDiskSpool(join(parent, 'missing'));
    await expect(spool.write('1', 'x')).rejects.toThrow();
    await expect(spool.discard()).resolves.toBeUndefined();
  });
});
