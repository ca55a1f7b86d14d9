import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const PROJECT = resolve(import.meta.dirname, '../..');

/** Path below the project → content. */
export type SourceFiles = Readonly<Record<string, string>>;

export interface Violation {
  readonly rule: string;
  readonly from: string;
  readonly to: string;
}

export interface CruiseReport {
  readonly modulesCruised: number;
  readonly violations: readonly Violation[];
}

/**
 * Checks the given files with the project's own rule file, compiler options and packages, as
 * `npm run boundaries` does, in a directory of its own: a violation planted in the real tree would
 * disturb whoever works there.
 */
export async function cruise(files: SourceFiles): Promise<CruiseReport> {
  const directory = await mkdtemp(join(tmpdir(), 'nexusdesk-boundaries-'));
  try {
    for (const name of ['.dependency-cruiser.cjs', 'package.json', 'tsconfig.json']) {
      await copyFile(join(PROJECT, name), join(directory, name));
    }
    await symlink(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
    }
    return parseReport(await runCruiser(directory));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Resolves with the report whatever the exit code: the number of violations becomes the code. */
function runCruiser(directory: string): Promise<string> {
  const program = join(PROJECT, 'node_modules/.bin/depcruise');
  const args = [program, '.', '--config', '.dependency-cruiser.cjs', '--output-type', 'json'];
  return new Promise((settle, fail) => {
    execFile(
      process.execPath,
      args,
      { cwd: directory, maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (stdout.startsWith('{')) settle(stdout);
        else fail(new Error(`dependency-cruiser gave no report: ${stderr}`, { cause: error }));
      },
    );
  });
}

interface RawReport {
  readonly summary: {
    readonly totalCruised: number;
    readonly violations: readonly { from: string; to: string; rule: { name: string } }[];
  };
}

function parseReport(json: string): CruiseReport {
  const { summary } = JSON.parse(json) as RawReport;
  return {
    modulesCruised: summary.totalCruised,
    violations: summary.violations.map(({ from, to, rule }) => ({ from, to, rule: rule.name })),
  };
}
