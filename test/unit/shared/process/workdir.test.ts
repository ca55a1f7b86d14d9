import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPrivateWorkdir, removeTree, WorkdirError } from '#shared/process/index.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nexusdesk-workdir-'));
  onTestFinished(() => removeTree(folder));
});

describe('private workdir', () => {
  it('HST-4 makes three private folders that no other user can read', async () => {
    const root = join(folder, 'data', 'runs');
    const workdir = await createPrivateWorkdir(root, 'run-1.attempt_2');
    expect(workdir).toEqual({
      path: join(root, 'run-1.attempt_2'),
      work: join(root, 'run-1.attempt_2', 'work'),
      home: join(root, 'run-1.attempt_2', 'home'),
      tmp: join(root, 'run-1.attempt_2', 'tmp'),
    });
    for (const path of Object.values(workdir)) expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect((await stat(root)).mode & 0o777).toBe(0o711);
  });

  it('WSP-2 refuses a name that leads elsewhere', async () => {
    for (const runId of ['', '.', '..', '../x', 'a/b', '.hidden', 'a\0b', 'a b', 'x'.repeat(129)]) {
      await expect(createPrivateWorkdir(folder, runId)).rejects.toThrow(WorkdirError);
    }
    expect(await readdir(folder)).toEqual([]);
  });

  it('WSP-2 refuses links and folders that are there already', async () => {
    await mkdir(join(folder, 'elsewhere'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'link'));
    await symlink(join(folder, 'elsewhere'), join(folder, 'dangling-target'));
    await expect(createPrivateWorkdir(join(folder, 'link'), 'run')).rejects.toThrow(WorkdirError);
    await expect(createPrivateWorkdir(folder, 'link')).rejects.toThrow(WorkdirError);
    await createPrivateWorkdir(folder, 'run');
    await expect(createPrivateWorkdir(folder, 'run')).rejects.toThrow(WorkdirError);
    expect(await readdir(join(folder, 'elsewhere'))).toEqual([]);
  });

  it('refuses a root that other users could write to, unless it is sticky', async () => {
    const root = join(folder, 'shared');
    await mkdir(root);
    await chmod(root, 0o777);
    await expect(createPrivateWorkdir(root, 'run')).rejects.toThrow(WorkdirError);
    await chmod(root, 0o1777);
    await createPrivateWorkdir(root, 'run');
  });

  it('refuses a root that is a file', async () => {
    await writeFile(join(folder, 'file'), '');
    await expect(createPrivateWorkdir(join(folder, 'file'), 'run')).rejects.toThrow(WorkdirError);
  });
});

describe('tree removal on disk', () => {
  it('removes everything below, and a missing folder is no error', async () => {
    const top = join(folder, 'top');
    await mkdir(join(top, 'a', 'b'), { recursive: true });
    await writeFile(join(top, 'a', 'b', 'file'), '');
    await writeFile(Buffer.concat([Buffer.from(`${top}/`), Buffer.from([0xff, 0xfe])]), '');
    await removeTree(top);
    expect(await readdir(folder)).toEqual([]);
    await removeTree(top);
  });

  it('WSP-2 removes links, not what they lead to', async () => {
    await mkdir(join(folder, 'kept'));
    await writeFile(join(folder, 'kept', 'file'), 'kept');
    await mkdir(join(folder, 'top'));
    await symlink(join(folder, 'kept'), join(folder, 'top', 'link'));
    await removeTree(join(folder, 'top'));
    expect(await readFile(join(folder, 'kept', 'file'), 'utf8')).toBe('kept');
    await symlink(join(folder, 'kept'), join(folder, 'link'));
    await expect(removeTree(join(folder, 'link'))).rejects.toThrow(WorkdirError);
    expect(await readFile(join(folder, 'kept', 'file'), 'utf8')).toBe('kept');
  });

  it('removes folders without permissions', async () => {
    const top = join(folder, 'top');
    await mkdir(join(top, 'closed', 'inner'), { recursive: true });
    await chmod(join(top, 'closed', 'inner'), 0o000);
    await chmod(join(top, 'closed'), 0o000);
    await removeTree(top);
    expect(await readdir(folder)).toEqual([]);
  });

  it('removes a tree that is deeper than any path can name', async () => {
    // Built bottom up, as a hostile program does with chdir.
    const name = 'd'.repeat(200);
    const top = join(folder, 'top');
    await mkdir(top);
    let grown = join(folder, 'grown');
    await mkdir(grown);
    for (let level = 0; level < 60; level += 1) {
      const above = join(folder, `above-${level}`);
      await mkdir(above);
      await rename(grown, join(above, name));
      grown = above;
    }
    await rename(grown, join(top, 'deep'));
    await removeTree(top);
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses what nobody means to remove', async () => {
    for (const path of ['/', '/tmp', '/nowhere', '//'])
      await expect(removeTree(path)).rejects.toThrow(WorkdirError);
    await writeFile(join(folder, 'file'), '');
    await expect(removeTree(join(folder, 'file'))).rejects.toThrow(WorkdirError);
  });
});
