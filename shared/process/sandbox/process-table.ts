import { readdirSync, readFileSync } from 'node:fs';
import { runCommand } from './run-command.ts';

/** One process of the host. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where the system does not tell. */
  readonly session: number;
  readonly zombie: boolean;
  /** Tells a process from a later one with the same id. */
  readonly startedAt: string;
  /** Resident memory, where the table tells. */
  readonly memoryBytes?: number;
}

export type ReadProcessTable = () => Promise<readonly ProcessRow[]>;

/** Process ids that exist now. Synchronous, because the list is old before a promise could settle. */
export function linuxProcessIds(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid));
}

/** A file below `/proc/<pid>`, or undefined when the process is gone or not ours to see. */
export function readProcFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}

/** Reads `/proc/<pid>/stat`. */
export function linuxProcessRow(pid: number): ProcessRow | undefined {
  const stat = readProcFile(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name of the program may hold spaces and brackets; the fields begin after its last bracket.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const numberAt = (index: number): number => Number(fields[index]);
  return {
    pid,
    parent: numberAt(1),
    group: numberAt(2),
    session: numberAt(3),
    zombie: fields[0] === 'Z' || fields[0] === 'X',
    startedAt: fields[19] ?? '',
  };
}

export const readLinuxProcessTable: ReadProcessTable = async () =>
  linuxProcessIds().flatMap((pid) => linuxProcessRow(pid) ?? []);

/** Memory that the process does not share with files: what ends when it ends. */
export function linuxPrivateMemory(pid: number): number {
  const status = readProcFile(pid, 'status') ?? '';
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
  return (kilobytes('RssAnon') + kilobytes('RssShmem')) * 1_024;
}

const PS_ARGUMENTS = ['-axo', 'pid=,ppid=,pgid=,stat=,rss=,lstart='];
const PS_LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\d+)\s+(.+?)\s*$/;

/** For systems without `/proc`, such as macOS. */
export const readPsProcessTable: ReadProcessTable = async () => {
  const { stdout } = await runCommand('/bin/ps', PS_ARGUMENTS, { env: { LC_ALL: 'C' } });
  return parsePsTable(stdout);
};

/** What `ps -axo pid=,ppid=,pgid=,stat=,rss=,lstart=` prints. */
export function parsePsTable(text: string): ProcessRow[] {
  return text.split('\n').flatMap((line) => {
    const [, pid, parent, group, state = '', kilobytes, startedAt = ''] = PS_LINE.exec(line) ?? [];
    if (pid === undefined) return [];
    return [
      {
        pid: Number(pid),
        parent: Number(parent),
        group: Number(group),
        session: 0,
        zombie: state.startsWith('Z'),
        startedAt,
        memoryBytes: Number(kilobytes) * 1_024,
      },
    ];
  });
}
