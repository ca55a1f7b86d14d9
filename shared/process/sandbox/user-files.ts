import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './run-command.ts';
import type { HostUser } from './sandbox.ts';

/**
 * Gives a folder and all below it to `user`, links themselves and not their targets. A file with several
 * names keeps its owner: another of its names may lie outside.
 */
export async function giveTo(user: HostUser, path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isDirectory() || found.nlink === 1) await lchown(path, user.uid, user.gid);
  if (!found.isDirectory()) return;
  for (const name of await readdir(path)) await giveTo(user, join(path, name));
}

/**
 * Closes a folder to the user it was given to. That id may be given to another run, and what this one leaves
 * behind must not be given with it.
 */
export async function takeBack(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isDirectory()) await lchown(path, 0, 0);
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
