import type { SandboxMode } from './tool-access.ts';

export interface ExecArguments {
  readonly file: string;
  readonly sandbox: SandboxMode;
  readonly outputSchemaPath: string | undefined;
  /** Thread to go on with. */
  readonly resumeThreadId: string | undefined;
}

/**
 * The prompt is never an argument: it goes through stdin (`-`), where neither its length nor what it looks like
 * matters. The sandbox is always given, because a resumed thread would else fall back to read-only.
 */
export function execArguments(options: ExecArguments): [string, ...string[]] {
  const { file, sandbox, outputSchemaPath, resumeThreadId } = options;
  return [
    file,
    'exec',
    '--json',
    '--strict-config',
    '--skip-git-repo-check',
    '--color',
    'never',
    '--sandbox',
    sandbox,
    ...(outputSchemaPath === undefined ? [] : ['--output-schema', outputSchemaPath]),
    // Options come before the subcommand: after it some of them are not accepted.
    ...(resumeThreadId === undefined ? [] : ['resume', resumeThreadId]),
    '-',
  ];
}
