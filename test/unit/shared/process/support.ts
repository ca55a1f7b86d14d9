import { readFileSync } from 'node:fs';
import { chmod, cp, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createMasker } from '#shared/masking/index.ts';
import {
  createPrivateWorkdir,
  detectSandbox,
  type FramedRecord,
  type PreparedSandbox,
  type PrivateWorkdir,
  type ProcessLimits,
  type ProcessObservers,
  type ProcessOutcome,
  type ProcessSpec,
  type ProcessStateChange,
  removeTree,
  SANDBOX_KINDS,
  type Sandbox,
  type SandboxKind,
  type SandboxRun,
  type Supervised,
  superviseProcess,
} from '#shared/process/index.ts';
import { linuxProcessIds } from '#shared/process/sandbox/process-table.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/processes');
export const SHELL = '/bin/sh';
export const NODE = process.execPath;

export interface TestRun {
  readonly workdir: PrivateWorkdir;
  readonly prepared: PreparedSandbox;
  /** The fixture programs, where every sandbox can read them. */
  readonly programs: string;
}

/** A prepared sandbox in a folder of its own; both disappear after the test. */
export async function prepareRun(
  sandbox: Sandbox,
  extra: Partial<SandboxRun> = {},
): Promise<TestRun> {
  const root = await mkdtemp(join(tmpdir(), 'nexusdesk-test-'));
  onTestFinished(() => removeTree(root));
  return prepareIn(root, sandbox, extra);
}

async function prepareIn(
  root: string,
  sandbox: Sandbox,
  extra: Partial<SandboxRun>,
): Promise<TestRun> {
  await chmod(root, 0o711);
  const programs = join(root, 'programs');
  await cp(FIXTURES, programs, { recursive: true });
  await chmod(programs, 0o755);
  const workdir = await createPrivateWorkdir(join(root, 'runs'), 'run-1');
  const prepared = await sandbox.prepare({
    workdir,
    readOnly: [programs, NODE, ...(extra.readOnly ?? [])],
    hidden: extra.hidden ?? [],
    writable: extra.writable ?? [],
  });
  return { workdir, prepared, programs };
}

export interface AvailableSandbox {
  readonly kind: SandboxKind;
  readonly sandbox: Sandbox;
}

/** Every kind that works on this machine for our own programs; at least the weakest does. */
export async function availableSandboxes(): Promise<AvailableSandbox[]> {
  const available: AvailableSandbox[] = [];
  for (const kind of SANDBOX_KINDS) {
    const root = await mkdtemp(join(tmpdir(), 'nexusdesk-test-'));
    try {
      const { sandbox } = await detectSandbox({ required: kind, platform: process.platform });
      const { prepared } = await prepareIn(root, sandbox, {});
      await prepared.release();
      available.push({ kind, sandbox });
    } catch (error) {
      process.stderr.write(`not tested here: sandbox ${kind}: ${(error as Error).message}\n`);
    } finally {
      await removeTree(root);
    }
  }
  return available;
}

export const ROOMY: ProcessLimits = { outputBytes: 500 * 2 ** 20, recordBytes: 2 ** 20 };

export interface Started extends TestRun {
  readonly process: Supervised;
  readonly records: FramedRecord[];
  readonly states: ProcessStateChange[];
  readonly stderrLines: string[];
  /** Resolves when a record with exactly this text was read; rejects when the process ends before. */
  said(text: string): Promise<void>;
}

export type StartOptions = Partial<Omit<ProcessSpec, 'argv'>> & {
  readonly observers?: ProcessObservers;
  readonly secrets?: readonly string[];
};

/** Starts `argv` in a prepared run; relative `*.mjs` programs run under Node. */
export function start(run: TestRun, argv: readonly string[], options: StartOptions = {}): Started {
  const { observers, secrets = [], ...spec } = options;
  const records: FramedRecord[] = [];
  const states: ProcessStateChange[] = [];
  const stderrLines: string[] = [];
  const waiting: { text: string; resolve: () => void; reject: (error: Error) => void }[] = [];
  const supervised = superviseProcess(
    {
      argv: fullCommand(run, argv),
      cwd: run.workdir.work,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...run.prepared.environment },
      stdin: 'closed',
      limits: ROOMY,
      masker: createMasker(secrets),
      graceMs: 30_000,
      ...spec,
    },
    run.prepared,
    {
      onState: (change) => states.push(change),
      onStderrLine: (line) => stderrLines.push(line),
      onRecord: (record) => {
        records.push(record);
        for (const waiter of waiting) if (waiter.text === record.text) waiter.resolve();
      },
      ...observers,
    },
  );
  // Registered after the run's own clean-up, so it runs before it.
  onTestFinished(async () => {
    await supervised.stop({ reason: 'cancelled', graceMs: 0 }).catch(() => {});
    await run.prepared.release();
  });
  const said = (text: string): Promise<void> => {
    if (records.some((record) => record.text === text)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      waiting.push({ text, resolve, reject });
      const early = (outcome: unknown): void =>
        reject(new Error(`ended before it said ${text}: ${JSON.stringify(outcome)}`));
      supervised.outcome.then(early, early);
    });
  };
  return { ...run, process: supervised, records, states, stderrLines, said };
}

function fullCommand(run: TestRun, argv: readonly string[]): [string, ...string[]] {
  const [program = '', ...args] = argv;
  if (program.endsWith('.mjs')) return [NODE, join(run.programs, program), ...args];
  if (program.endsWith('.sh')) return [SHELL, join(run.programs, program), ...args];
  return [program, ...args];
}

export async function runToEnd(
  run: TestRun,
  argv: readonly string[],
  options: StartOptions = {},
): Promise<Started & { outcome: ProcessOutcome }> {
  const started = start(run, argv, options);
  return { ...started, outcome: await started.process.outcome };
}

export const textsOf = (records: readonly FramedRecord[]): string[] =>
  records.map(({ text }) => text);

let markers = 0;
/** A number of seconds that no other `sleep` on this machine sleeps. */
export function newMarker(): string {
  markers += 1;
  return `86400.${process.pid}${String(markers).padStart(4, '0')}`;
}

/** The live processes of the machine with `marker` among their arguments, seen without the sandbox's help. */
export function processesWith(marker: string): number[] {
  return linuxProcessIds().filter((pid) => {
    try {
      // Empty for a zombie.
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(marker);
    } catch {
      return false;
    }
  });
}

export const CLEAN = { survivors: 0, verifiedEmptyAt: expect.any(String) };
