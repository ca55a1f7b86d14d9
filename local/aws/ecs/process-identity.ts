import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** A process, told apart from a later one that was given the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in a form that only serves to be compared. */
  readonly born: string;
}

export interface ProcessRow extends ProcessIdentity {
  readonly parentPid: number;
  /** Dead, but its parent has not asked for its exit code yet. */
  readonly zombie: boolean;
}

const ON_LINUX = process.platform === 'linux';

/** The process that has this pid now; none when it is gone or a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const row = ON_LINUX ? readProcStat(pid) : listWithPs(['-p', String(pid)])[0];
  return row && !row.zombie ? { pid: row.pid, born: row.born } : undefined;
}

export function isAlive(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.born === identity.born;
}

/** Signals the process unless it is gone; never a stranger that got its pid. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(identity)) sendSignal(identity.pid, signal);
}

/**
 * Signals every process of a group. The caller knows that the group is still the one it means: a group id
 * cannot be given away while a member lives, but it can be when all are gone.
 */
export function signalGroup(groupId: number, signal: NodeJS.Signals): void {
  sendSignal(-groupId, signal);
}

/** Every process there is now, zombies included. Costs some milliseconds. */
export function listProcesses(): ProcessRow[] {
  return ON_LINUX ? listProc() : listWithPs(['-A']);
}

/** The living children of the given processes, their children, and so on. The given ones are not listed. */
export function descendantsOf(
  ancestors: readonly ProcessIdentity[],
  rows: readonly ProcessRow[] = listProcesses(),
): ProcessIdentity[] {
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const family = new Set(
    ancestors.filter(({ pid, born }) => byPid.get(pid)?.born === born).map(({ pid }) => pid),
  );
  const found: ProcessIdentity[] = [];
  for (let grown = true; grown; ) {
    grown = false;
    for (const row of rows) {
      if (family.has(row.pid) || !family.has(row.parentPid)) continue;
      family.add(row.pid);
      if (!row.zombie) found.push({ pid: row.pid, born: row.born });
      grown = true;
    }
  }
  return found;
}

function sendSignal(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch (error) {
    // Gone in between, or (macOS) only zombies are left in the group.
    if (!['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

let bootId: string | undefined;

/** `man 5 proc`: the name (field 2) may hold spaces and brackets, so fields count from its last bracket. */
function readProcStat(pid: number): ProcessRow | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parentPid, startTicks] = [fields[0], fields[1], fields[19]];
  if (state === undefined || startTicks === undefined) return undefined;
  // Ticks count from the boot, so equal ticks mean equal processes only within one.
  bootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return {
    pid,
    parentPid: Number(parentPid),
    born: `${bootId}/${startTicks}`,
    zombie: state === 'Z' || state === 'X',
  };
}

function listProc(): ProcessRow[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcStat(Number(name)))
    .filter((row) => row !== undefined);
}

/** `lstart` is five words: weekday, month, day, time, year. */
function listWithPs(selection: readonly string[]): ProcessRow[] {
  const columns = ['-o', 'pid=', '-o', 'ppid=', '-o', 'state=', '-o', 'lstart='];
  const { stdout } = spawnSync('/bin/ps', [...selection, ...columns], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC' },
  });
  return stdout.split('\n').flatMap((line) => {
    const [pid, parentPid, state, ...born] = line.trim().split(/\s+/);
    if (!pid || !state || born.length === 0) return [];
    const zombie = state.startsWith('Z');
    return [{ pid: Number(pid), parentPid: Number(parentPid), born: born.join(' '), zombie }];
  });
}
