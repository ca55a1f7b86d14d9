import { constants } from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** The folders of one run. All absolute, without symbolic links, mode 0700. */
export interface PrivateWorkdir {
  /** Holds the other three; nobody but the host and the run's own sandbox may enter it. */
  readonly path: string;
  /** The engine's current directory. */
  readonly work: string;
  /** The engine's HOME. */
  readonly home: string;
  /** The engine's temporary files. */
  readonly tmp: string;
}

/** A private directory could not be made or may not be used. */
export class WorkdirError extends Error {
  override readonly name = 'WorkdirError';
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const PRIVATE = 0o700;
/** Dedicated users of runs may pass through the root to their own directory, but not list it. */
const PASSABLE = 0o711;

/**
 * Makes `<root>/<runId>/{work,home,tmp}`. `root` is made when it is missing.
 *
 * @throws WorkdirError when `runId` is no plain name, when `root` or the directory is a symbolic link, or
 *   when the directory exists already: the files of an earlier attempt must not become this one's.
 */
export async function createPrivateWorkdir(root: string, runId: string): Promise<PrivateWorkdir> {
  if (!RUN_ID.test(runId)) throw new WorkdirError(`not a run id: ${JSON.stringify(runId)}`);
  const path = join(await ownRoot(root), runId);
  await makePrivate(path);
  const workdir = {
    path,
    work: join(path, 'work'),
    home: join(path, 'home'),
    tmp: join(path, 'tmp'),
  };
  for (const folder of [workdir.work, workdir.home, workdir.tmp]) await makePrivate(folder);
  return workdir;
}

async function ownRoot(root: string): Promise<string> {
  const wanted = resolve(root);
  await mkdir(dirname(wanted), { recursive: true });
  // The way to the root may hold links of the system (/tmp on macOS); the root itself may not be one.
  const real = join(await realpath(dirname(wanted)), basename(wanted));
  const made = await mkdir(real, { mode: PASSABLE }).then(
    () => true,
    () => false,
  );
  if (made) await chmod(real, PASSABLE);
  const found = await lstat(real).catch((cause: unknown) => {
    throw new WorkdirError(`cannot make ${real}`, { cause });
  });
  if (!found.isDirectory()) throw new WorkdirError(`${real} is a link or no directory`);
  const writableByOthers = (found.mode & (constants.S_IWGRP | constants.S_IWOTH)) !== 0;
  const sticky = (found.mode & 0o1000) !== 0;
  if (writableByOthers && !sticky) throw new WorkdirError(`${real} can be written by other users`);
  return real;
}

async function makePrivate(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: PRIVATE });
    // mkdir's mode is cut by the umask.
    await chmod(path, PRIVATE);
  } catch (cause) {
    throw new WorkdirError(`cannot make the private directory ${path}`, { cause });
  }
}

/** A path longer than this is moved up before it grows over the system's limit of 4,096 bytes. */
const LONGEST_PATH = 2_048;

/**
 * Removes a directory and all below it; a missing one is no error. Never follows a symbolic link. Copes with
 * what a hostile program leaves: directories without permissions and trees deeper than any path can name.
 * Call it only after every process that could write there is verified gone.
 *
 * @throws WorkdirError for a path that is a link, no directory, or too close to `/`.
 */
export async function removeTree(path: string): Promise<void> {
  const top = resolve(path);
  if (top.split(sep).length < 3) throw new WorkdirError(`refusing to remove ${top}`);
  const found = await lstat(top).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isDirectory()) throw new WorkdirError(`${top} is a link or no directory`);

  // Names are bytes: what a program wrote need not be UTF-8.
  const root = Buffer.from(top);
  const open: Buffer[] = [root];
  let moved = 0;
  for (let folder = open.at(-1); folder !== undefined; folder = open.at(-1)) {
    const below = await emptyFolder(folder);
    if (below.length === 0) {
      await rmdir(folder);
      open.pop();
      continue;
    }
    for (const child of below) {
      if (child.length <= LONGEST_PATH) {
        open.push(child);
        continue;
      }
      moved += 1;
      await rename(child, inside(root, Buffer.from(`.removing-${process.pid}-${moved}`)));
    }
  }
}

/** Removes everything but directories; returns the directories that are left. */
async function emptyFolder(folder: Buffer): Promise<Buffer[]> {
  // It may still belong to a run's user, whom a host with few capabilities cannot overrule.
  if (process.geteuid?.() === 0) await lchown(folder, 0, 0);
  // Its owner may have taken its own permissions away.
  await chmod(folder, PRIVATE);
  const below: Buffer[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, encoding: 'buffer' })) {
    const child = inside(folder, entry.name);
    if (entry.isDirectory()) below.push(child);
    else await unlink(child);
  }
  return below;
}

function inside(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from(sep), name]);
}
