import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECT } from './source-files.ts';

const TESTS = `
import { expect, it } from 'vitest';
it('says nothing', async () => { await Promise.resolve(); });
it('says something', () => { expect(1).toBe(1); });
it('runs the Node and the settings of the project', () => {
  expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(24);
  expect(process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED).toBe('true');
});
`;

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** The project's own configuration, asked to run one file of a directory of its own. */
describe('a test', () => {
  let directory: string;
  let statusOf: Map<string, string>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nexusdesk-assertions-'));
    for (const name of ['vitest.config.ts', 'package.json', 'tsconfig.json']) {
      await cp(join(PROJECT, name), join(directory, name));
    }
    await symlink(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
    await mkdir(join(directory, 'test/unit'), { recursive: true });
    await writeFile(join(directory, 'test/unit/samples.test.ts'), TESTS);
    const report = await runVitest(directory);
    const results = report.testResults.flatMap((file) => file.assertionResults);
    statusOf = new Map(results.map(({ title, status }) => [title, status]));
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it('without an assertion fails', () => {
    expect(statusOf.get('says nothing')).toBe('failed');
  });

  it('with an assertion passes', () => {
    expect(statusOf.get('says something')).toBe('passed');
  });

  it('runs on the Node of the project, with its environment', () => {
    expect(statusOf.get('runs the Node and the settings of the project')).toBe('passed');
  });
});

/** Resolves whatever the exit code, since one of the tests is meant to fail. */
async function runVitest(directory: string): Promise<Report> {
  const program = join(PROJECT, 'node_modules/vitest/vitest.mjs');
  const report = join(directory, 'report.json');
  const args = [program, 'run', '--project', 'unit', '--reporter', 'json', '--outputFile', report];
  await once(spawn(process.execPath, args, { cwd: directory, stdio: 'ignore' }), 'exit');
  return JSON.parse(await readFile(report, 'utf8')) as Report;
}
