import { chmod, mkdtemp, readFile } from 'node:fs/promises';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { BubblewrapSandbox } from './sandbox/bubblewrap.ts';
import { ProcessGroupSandbox } from './sandbox/process-group.ts';
import { findChainPrograms, findProgram } from './sandbox/program-chain.ts';
import { runCommand } from './sandbox/run-command.ts';
import { SANDBOX_KINDS, type Sandbox, SandboxError, type SandboxKind } from './sandbox/sandbox.ts';
import { UidSandbox } from './sandbox/uid.ts';
import { DYNAMIC_USERS, type UserRange } from './sandbox/user-claim.ts';
import { superviseProcess } from './supervise.ts';
import { createPrivateWorkdir, removeTree } from './workdir.ts';

export interface DetectOptions {
  /** Tried first; the others follow, strongest first. */
  readonly preferred?: SandboxKind;
  /** No other kind will do. */
  readonly required?: SandboxKind;
  /** A `bwrap` program that is not among the system's, absolute. */
  readonly bwrapPath?: string;
  readonly platform: NodeJS.Platform;
  /** User ids for the runs of a host that is root. Default 61184–65519. */
  readonly users?: UserRange;
  /** Folder for the probes' files; other users must be able to pass through it. Default the system's. */
  readonly scratch?: string;
}

export interface SandboxProbe {
  readonly kind: SandboxKind;
  readonly ok: boolean;
  /** Why not; empty when `ok`. */
  readonly reason: string;
}

export interface DetectedSandbox {
  readonly sandbox: Sandbox;
  /** In the order tried; the kinds after the first that works were not tried. */
  readonly probes: readonly SandboxProbe[];
}

/**
 * Finds the strongest sandbox that really works here, by running a program in it: kernels, container
 * runtimes and distributions forbid parts of it in ways that no version number tells.
 *
 * @throws SandboxError when `required` does not work.
 */
export async function detectSandbox(options: DetectOptions): Promise<DetectedSandbox> {
  const { preferred, required } = options;
  const order =
    required === undefined
      ? [...new Set([...(preferred === undefined ? [] : [preferred]), ...SANDBOX_KINDS])]
      : [required];
  const probes: SandboxProbe[] = [];
  for (const kind of order) {
    const result = await detectKind(kind, options);
    if (typeof result !== 'string') {
      return { sandbox: result, probes: [...probes, { kind, ok: true, reason: '' }] };
    }
    probes.push({ kind, ok: false, reason: result });
  }
  throw new SandboxError(probes.map(({ kind, reason }) => `${kind}: ${reason}`).join('; '));
}

/** The sandbox, or why it does not work. */
async function detectKind(kind: SandboxKind, options: DetectOptions): Promise<Sandbox | string> {
  const candidates = await candidatesFor(kind, options);
  if (typeof candidates === 'string') return candidates;
  let reason = '';
  for (const sandbox of candidates) {
    reason = await probe(sandbox, options.scratch ?? tmpdir());
    if (reason === '') return sandbox;
  }
  return reason;
}

async function candidatesFor(
  kind: SandboxKind,
  { platform, bwrapPath, users = DYNAMIC_USERS }: DetectOptions,
): Promise<Sandbox[] | string> {
  const chain = findChainPrograms();
  const isLinux = platform === 'linux';
  const isRoot = process.getuid?.() === 0;
  switch (kind) {
    case 'bubblewrap': {
      if (!isLinux) return `not on ${platform}`;
      const program = bwrapPath ?? findProgram('bwrap');
      if (program === undefined) return 'no bwrap program';
      const common = {
        program,
        chain,
        users: isRoot ? users : undefined,
        limitsProcesses: isRoot || countsProcessesByNamespace(release()),
      };
      const settings = (await canDisableUserNamespaces(program)) ? [true, false] : [false];
      return settings.map(
        (disableUserNamespaces) => new BubblewrapSandbox({ ...common, disableUserNamespaces }),
      );
    }
    case 'uid':
      if (!isLinux) return `not on ${platform}`;
      if (!isRoot) return 'the host is not root';
      for (const name of ['setpriv', 'prlimit', 'env'] as const) {
        if (chain[name] === undefined) return `no ${name} program`;
      }
      return [new UidSandbox({ chain, users })];
    case 'process_group':
      return [new ProcessGroupSandbox({ chain, procfs: isLinux })];
  }
}

/** The option came with 0.8. */
async function canDisableUserNamespaces(program: string): Promise<boolean> {
  const { stdout } = await runCommand(program, ['--version']).catch(() => ({ stdout: '' }));
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 0 || Number(minor) >= 8;
}

/** Since Linux 5.14 a limit set in a user namespace counts the processes in it, not all of the user's. */
function countsProcessesByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number);
  return major > 5 || (major === 5 && minor >= 14);
}

const PROBE_SCRIPT = 'printf works > probe && printf works > "$HOME/probe" && : > "$TMPDIR/probe"';
const PROBE_LIMITS = {
  outputBytes: 65_536,
  recordBytes: 4_096,
  wallClockMs: 20_000,
  openFiles: 256,
};
const UNMASKED = { stream: () => ({ push: (chunk: Buffer) => [chunk], end: () => [] }) };

/** Why the sandbox does not work; empty when a program ran in it, wrote its files, and was removed. */
async function probe(sandbox: Sandbox, scratch: string): Promise<string> {
  const root = await mkdtemp(join(scratch, 'nexusdesk-probe-'));
  // mkdtemp makes it private; a run's own user must pass through.
  await chmod(root, 0o711);
  try {
    const workdir = await createPrivateWorkdir(root, 'probe');
    const prepared = await sandbox.prepare({ workdir, readOnly: [], hidden: [], writable: [] });
    try {
      const { outcome } = superviseProcess(
        {
          argv: ['/bin/sh', '-c', PROBE_SCRIPT],
          cwd: workdir.work,
          env: { PATH: '/usr/bin:/bin', ...prepared.environment },
          stdin: 'closed',
          limits: PROBE_LIMITS,
          masker: UNMASKED,
          graceMs: 0,
        },
        prepared,
      );
      const { cause, exit, failure, survivors, stderrTail } = await outcome;
      if (cause !== 'exited' || exit.code !== 0) {
        return failure?.message ?? `${cause}, code ${exit.code}, ${stderrTail.trim()}`;
      }
      if (survivors > 0) return `${survivors} processes could not be removed`;
    } finally {
      await prepared.release();
    }
    const written = await readFile(join(workdir.work, 'probe'), 'utf8');
    return written === 'works' ? '' : 'files written inside do not arrive';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await removeTree(root);
  }
}
