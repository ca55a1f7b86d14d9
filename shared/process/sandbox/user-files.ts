import { chmod, lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';
import type { HostUser } from './sandbox.ts';

/**
 * Gives a folder and all below it to `user`, links themselves and not their targets. A file with several
 * names keeps its owner: another of its names may lie outside.
 *
 * From the bottom up, because a host with few capabilities cannot look into what it has given away.
 */
export async function giveTo({ uid, gid }: HostUser, path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory()) {
    for (const name of await readdir(path)) await giveTo({ uid, gid }, join(path, name));
  }
  if (found.isDirectory() || found.nlink === 1) await lchown(path, uid, gid);
}

/**
 * Gives a folder and all below it back to the host, from the top down. A user id may be given to another run,
 * and what this one leaves behind must not be given with it. Call it when no process of the run is left; a
 * missing folder is no error.
 */
export async function takeBack(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (!found?.isDirectory()) return;
  // Only a host that is root has given it away.
  await lchown(folder, 0, 0);
  // The run may have closed its own folders.
  await chmod(folder, found.mode | 0o700);
  const folders: string[] = [];
  const files: Promise<void>[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) folders.push(path);
    // A name that is no UTF-8 cannot be said again; its folder is closed all the same.
    else files.push(lchown(path, 0, 0).catch(() => {}));
  }
  await Promise.all(files);
  for (const path of folders) await takeBack(path);
}

/** `$1` is a flag of `test`; prints the positions of the paths for which it holds. */
const TEST_SCRIPT =
  'flag=$1; shift; n=0; for path do if [ "$flag" "$path" ]; then echo $n; fi; n=$((n+1)); done';

/** Asks the kernel, as `user`, which of `paths` may be read (`-r`), entered (`-x`) or written (`-w`). */
export async function pathsWhere(
  user: HostUser,
  flag: '-r' | '-x' | '-w',
  paths: readonly string[],
): Promise<string[]> {
  if (paths.length === 0) return [];
  const { stdout } = await runCommand('/bin/sh', ['-c', TEST_SCRIPT, 'sh', flag, ...paths], {
    user,
  });
  const positions = stdout.split('\n').filter((line) => line !== '');
  return positions.flatMap((position) => paths[Number(position)] ?? []);
}
