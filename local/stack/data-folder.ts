import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** Everything the local stack keeps, in one folder: `.nexusdesk/`. Removing the folder is starting anew. */
export interface DataFolder {
  readonly path: string;
  readonly stateFile: string;
  readonly objects: string;
  /** One folder for each attempt of each run; kept, so that people can look at what an agent did. */
  readonly workdirs: string;
  readonly taskLogs: string;
  readonly logFile: string;
  readonly connectionFile: string;
  release(): void;
}

/** They hold secrets; SQLite gives its side files the permissions of the database. */
const PRIVATE_FILES = ['state.sqlite', 'platform.log'];
const PRIVATE_FOLDERS = ['objects', 'task-logs', 'compile-cache'];

const STACK_PROGRAM = 'local/main.ts';

const portsSchema = z.object({ api: z.number(), aws: z.number(), model: z.number() });
/** Kept over restarts: tasks that outlived a killed stack must find it again. */
export type Ports = z.infer<typeof portsSchema>;

/**
 * Opens the folder for one stack at a time.
 *
 * @throws Error naming the process that holds it
 */
export function openDataFolder(path: string): DataFolder {
  const root = resolve(path);
  // A host that is root runs engines as other users: they pass through to their own folder, and can list nothing.
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o711);
  for (const name of PRIVATE_FOLDERS) mkdirSync(join(root, name), { recursive: true, mode: 0o700 });
  for (const name of PRIVATE_FILES) closeSync(openSync(join(root, name), 'a', 0o600));
  const lock = join(root, 'stack.pid');
  takeLock(lock, root);
  return {
    path: root,
    stateFile: join(root, 'state.sqlite'),
    objects: join(root, 'objects'),
    workdirs: join(root, 'workdirs'),
    taskLogs: join(root, 'task-logs'),
    logFile: join(root, 'platform.log'),
    connectionFile: join(root, 'connection.json'),
    release: () => rmSync(lock, { force: true }),
  };
}

function takeLock(lock: string, root: string): void {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(readFileSync(lock, 'utf8'));
    if (isAlive(holder)) {
      throw new Error(
        `a NexusDesk stack is running on ${root} already (process ${holder}); stop it, or set NEXUSDESK_DATA to another folder`,
      );
    }
    // Its process was killed.
    rmSync(lock, { force: true });
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    // A process id is given out again.
    return readCommand(pid).includes(STACK_PROGRAM);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return STACK_PROGRAM; // no /proc on this system: rather refuse than share a folder
  }
}

export function readPorts(folder: Pick<DataFolder, 'path'>): Ports | undefined {
  try {
    return portsSchema.parse(JSON.parse(readFileSync(join(folder.path, 'ports.json'), 'utf8')));
  } catch {
    return undefined;
  }
}

export function writePorts(folder: DataFolder, ports: Ports): void {
  writeFileSync(join(folder.path, 'ports.json'), JSON.stringify(ports));
}

/** Read by the CLI; holds a token, so nobody else may read it. */
export function writeConnection(
  folder: DataFolder,
  connection: { url: string; token: string; expiresAt: string },
): void {
  rmSync(folder.connectionFile, { force: true });
  writeFileSync(folder.connectionFile, `${JSON.stringify(connection)}\n`, { mode: 0o600 });
}
