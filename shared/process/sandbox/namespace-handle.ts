import type { ChildProcess } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { settlesWithin } from '../deadline.ts';
import type { ProcessExit } from '../process-outcome.ts';
import { exitOfShellCode } from './exit-code.ts';
import {
  linuxPrivateMemory,
  linuxProcessIds,
  linuxProcessRow,
  readLinuxProcessTable,
  readProcFile,
} from './process-table.ts';
import { chainFailure } from './program-chain.ts';
import type { ProcessHandle, ProgramExit } from './sandbox.ts';
import { killIfAlive } from './send-signal.ts';

/** `bwrap` writes less than 1 KB; what is more is not from it. */
const LONGEST_STATUS = 16_384;
/** Never reached, unless the host itself is too busy to read. */
const LONGEST_STATUS_WAIT_MS = 1_000;

/** What `bwrap` tells on its status pipe, one JSON object to a line. */
interface NamespaceStatus {
  /** The namespace's init, in the host's numbering. */
  init?: number;
  /** Inode of the process namespace: its identity. */
  namespace?: number;
  /** Exit code of the program, as a shell counts it. Absent when the program was never started. */
  exitCode?: number;
}

/** The tree of a `bwrap` child. */
export function attachNamespace(child: ChildProcess): ProcessHandle {
  const status: NamespaceStatus = {};
  const ready = readStatus(child, status);
  const launcher = child.pid ?? -1;

  const members = (): number[] => {
    if (status.namespace === undefined) return [];
    return linuxProcessIds().filter((pid) => namespaceOf(pid) === status.namespace && isAlive(pid));
  };
  /**
   * Until the launcher has told of the namespace, what it made is in its own session. It tells before it lets
   * the init go on: when nobody is left in the session, either the message waits to be read or the pipe ends.
   */
  const survivors = async (): Promise<number[]> => {
    if (status.namespace === undefined) {
      const early = await sessionOf(launcher);
      if (early.length > 0) return early;
      await settlesWithin(ready, LONGEST_STATUS_WAIT_MS);
    }
    return status.namespace === undefined ? sessionOf(launcher) : members();
  };

  return {
    ready,
    signal: async (signal) => {
      const [main, ...others] = members()
        .map((pid) => ({ pid, inside: idInside(pid) }))
        // Id 1 is the namespace's init: a signal would end it, and the tree without a grace.
        .filter(({ inside }) => inside > 1)
        .sort((a, b) => a.inside - b.inside);
      const targets = main === undefined ? [] : [main, ...others];
      return targets.filter(({ pid }) => killIfAlive(pid, signal)).length;
    },
    killAll: async () => {
      if (status.init !== undefined && namespaceOf(status.init) === status.namespace) {
        killIfAlive(status.init, 'SIGKILL');
      }
      for (const pid of await survivors()) killIfAlive(pid, 'SIGKILL');
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    },
    survivors,
    memoryBytes: async () => members().reduce((sum, pid) => sum + linuxPrivateMemory(pid), 0),
    explainExit: (exit, stderrTail) => explain(status, exit, stderrTail),
    close: () => {
      controlPipeOf(child)?.destroy();
    },
  };
}

function controlPipeOf(child: ChildProcess): Readable | undefined {
  const pipe = child.stdio[3];
  return pipe instanceof Object && 'read' in pipe ? (pipe as Readable) : undefined;
}

/** Resolves when the namespace is known, or when the pipe ends without telling. */
function readStatus(child: ChildProcess, status: NamespaceStatus): Promise<void> {
  return new Promise((resolve) => {
    let text = '';
    const pipe = controlPipeOf(child);
    if (pipe === undefined) return resolve();
    pipe.setEncoding('utf8');
    pipe.on('data', (part: string) => {
      text = (text + part).slice(0, LONGEST_STATUS);
      for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
        readStatusLine(text.slice(0, end), status);
        text = text.slice(end + 1);
      }
      if (status.namespace !== undefined) resolve();
    });
    pipe.on('error', () => resolve());
    pipe.on('close', () => resolve());
  });
}

function readStatusLine(line: string, status: NamespaceStatus): void {
  let told: Readonly<Record<string, unknown>>;
  try {
    told = JSON.parse(line);
  } catch {
    return;
  }
  const init = told['child-pid'];
  if (typeof init === 'number') {
    const namespace = told['pid-namespace'];
    status.init = init;
    // Versions before 0.4 name the init only.
    const known = typeof namespace === 'number' ? namespace : namespaceOf(init);
    if (known !== undefined) status.namespace = known;
  }
  const code = told['exit-code'];
  if (typeof code === 'number') status.exitCode = code;
}

function explain(status: NamespaceStatus, exit: ProcessExit, stderrTail: string): ProgramExit {
  const { exitCode } = status;
  if (exitCode === undefined && exit.signal === null && (exit.code ?? 0) < 128) {
    return {
      started: false,
      message: stderrTail.split('\n')[0] || 'bwrap ended before the program',
    };
  }
  const message = chainFailure(exitCode ?? exit.code, stderrTail);
  if (message !== undefined) return { started: false, message };
  return { started: true, exit: exitOfShellCode(exitCode ?? exit.code, exit.signal) };
}

function namespaceOf(pid: number): number | undefined {
  try {
    return Number(/\d+/.exec(readlinkSync(`/proc/${pid}/ns/pid`))?.[0]);
  } catch {
    return undefined;
  }
}

/** The id that a process has in its innermost namespace. */
function idInside(pid: number): number {
  const ids = /^NSpid:\s+(.+)$/m.exec(readProcFile(pid, 'status') ?? '')?.[1]?.split(/\s+/);
  return Number(ids?.at(-1) ?? 0);
}

function isAlive(pid: number): boolean {
  return linuxProcessRow(pid)?.zombie === false;
}

async function sessionOf(launcher: number): Promise<number[]> {
  const table = await readLinuxProcessTable();
  return table.filter((row) => !row.zombie && row.session === launcher).map((row) => row.pid);
}
