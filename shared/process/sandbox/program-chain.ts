import { accessSync, constants, readFileSync } from 'node:fs';
import type { ResourceLimits } from '../process-spec.ts';

/** Where this system keeps the small programs that change a process and then become the next one. */
export interface ChainPrograms {
  readonly nice: string | undefined;
  readonly choom: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
  readonly env: string | undefined;
}

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];

/** The absolute path of a system program, or undefined. The run's own PATH has no say in it. */
export function findProgram(name: string): string | undefined {
  return FOLDERS.map((folder) => `${folder}/${name}`).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function findChainPrograms(): ChainPrograms {
  return {
    nice: findProgram('nice'),
    choom: findProgram('choom'),
    setpriv: findProgram('setpriv'),
    prlimit: findProgram('prlimit'),
    env: findProgram('env'),
  };
}

/** Engines give way to the host that must stop them. */
const NICENESS = 5;
/** The kernel, short of memory, takes an engine before the host. The engine can undo it: a help, no fence. */
const OUT_OF_MEMORY_SCORE = 900;

/**
 * Low priority, first to go when memory is short. Put it before the program:
 * `nice … choom … <program>`; each link replaces itself by the next, so that no process is added.
 */
export function yieldingChain({ nice, choom }: ChainPrograms): string[] {
  return [
    ...(nice === undefined ? [] : [nice, '-n', String(NICENESS)]),
    ...(choom === undefined ? [] : [choom, '-n', String(OUT_OF_MEMORY_SCORE), '--']),
  ];
}

/** The last link: the limits must not hinder the links before it. */
export function limitingChain({ prlimit }: ChainPrograms, limits: ResourceLimits): string[] {
  if (prlimit === undefined) return shellLimitingChain(limits);
  const ceilings = hardLimits();
  const option = (name: string, wanted: number | undefined, ceiling: number): string[] =>
    // Nobody may raise a hard limit: asking for more than there is would fail the launch.
    wanted === undefined ? [] : [`--${name}=${Math.min(wanted, ceiling)}`];
  return [
    prlimit,
    ...option('nproc', limits.processes, ceilings.processes),
    ...option('fsize', limits.fileBytes, ceilings.fileBytes),
    ...option('nofile', limits.openFiles, ceilings.openFiles),
    '--core=0',
    '--',
  ];
}

/** POSIX `ulimit -f` counts in blocks of this size. */
const FILE_BLOCK_BYTES = 512;

/** For systems without `prlimit`, such as macOS. A limit that cannot be set is left as it is. */
function shellLimitingChain({ fileBytes, openFiles }: ResourceLimits): string[] {
  const settings = [
    'ulimit -c 0',
    ...(fileBytes === undefined ? [] : [`ulimit -f ${Math.ceil(fileBytes / FILE_BLOCK_BYTES)}`]),
    ...(openFiles === undefined ? [] : [`ulimit -n ${openFiles}`]),
  ];
  const script = `${settings.map((setting) => `${setting} 2>/dev/null; `).join('')}exec "$@"`;
  return ['/bin/sh', '-c', script, 'sh'];
}

/** The host's own hard limits; infinite where there is none or the system does not tell. */
function hardLimits(): { processes: number; fileBytes: number; openFiles: number } {
  let text = '';
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Not Linux, and then without prlimit too.
  }
  const hard = (name: string): number => {
    const found = new RegExp(`^${name}\\s+\\S+\\s+(\\d+)`, 'm').exec(text)?.[1];
    return found === undefined ? Number.POSITIVE_INFINITY : Number(found);
  };
  return {
    processes: hard('Max processes'),
    fileBytes: hard('Max file size'),
    openFiles: hard('Max open files'),
  };
}

/** `nice: …`, `prlimit: failed to execute …`: a link of the chain could not become the next one. */
const CHAIN_FAILURE = /^(?:env|nice|choom|setpriv|prlimit): .+$/m;
const CHAIN_EXIT_CODES: readonly (number | null)[] = [1, 125, 126, 127];

/** The complaint of a link that failed to start the program, if that is what the exit looks like. */
export function chainFailure(code: number | null, stderrTail: string): string | undefined {
  if (!CHAIN_EXIT_CODES.includes(code)) return undefined;
  const complaint = CHAIN_FAILURE.exec(stderrTail)?.[0];
  return complaint !== undefined && stderrTail.startsWith(complaint) ? complaint : undefined;
}
