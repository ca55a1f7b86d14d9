import { readdirSync, readFileSync } from 'node:fs';

/** A process of the stack's runs. */
export interface RunProcess {
  readonly pid: number;
  /** `keeper`: waits for a host on behalf of the emulated container service. `sandbox`: holds an engine. */
  readonly role: 'stack' | 'host' | 'engine' | 'sandbox' | 'keeper' | 'other';
  readonly runId: string | undefined;
  readonly command: string;
}

const HOST_PROGRAM = 'runtime-host/main.ts';
const ENGINE_PROGRAM = 'local-test/engine.mjs';
const STACK_PROGRAM = 'local/main.ts';

/** Everything that lives and names the data folder in its command or its environment, but for the stack itself. */
export function processesOf(dataDir: string): RunProcess[] {
  return everythingOf(dataDir).filter(({ role }) => role !== 'stack');
}

/** Leaves nothing of a load behind. */
export function killEverythingOf(dataDir: string): void {
  for (const { pid } of everythingOf(dataDir)) killProcess(pid);
}

function everythingOf(dataDir: string): RunProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((name) => describe(Number(name), dataDir) ?? []);
}

function describe(pid: number, dataDir: string): RunProcess | undefined {
  if (pid === process.pid) return undefined;
  const command = read(pid, 'cmdline');
  const environment = read(pid, 'environ');
  if (!command.includes(dataDir) && !environment.includes(dataDir)) return undefined;
  const words = command.split('\0');
  if (isZombie(pid)) return undefined;
  const runId = /run_[0-9A-Z]{26}/.exec(`${environment}\0${command}`)?.[0];
  return { pid, role: roleOf(words), runId, command: words.join(' ').slice(0, 200) };
}

function roleOf([program = '', script = '', , name = '']: readonly string[]): RunProcess['role'] {
  if (program.endsWith('/sh') && name === 'keeper') return 'keeper';
  if (program.endsWith('bwrap')) return 'sandbox';
  if (!program.endsWith('node')) return 'other';
  if (script === STACK_PROGRAM) return 'stack';
  if (script.endsWith(HOST_PROGRAM)) return 'host';
  return script.endsWith(ENGINE_PROGRAM) ? 'engine' : 'other';
}

function isZombie(pid: number): boolean {
  return /\) [ZX] /.test(read(pid, 'stat'));
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}

/** SIGKILL; false when it was gone already. */
export function killProcess(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}
