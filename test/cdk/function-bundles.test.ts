import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BUNDLING } from '#cdk/constructs/platform-function.ts';
import { environmentOf, FUNCTIONS } from '#shared/topology/index.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const LOADER = fileURLToPath(new URL('./load-bundles.ts', import.meta.url));
/** Lambda reads the whole file at each cold start. */
const BYTES_AT_MOST = 2_000_000;

const VALUES: Readonly<Record<string, string>> = {
  RUN_LIMITS: '{}',
  DEPLOYED_ENGINES: '[{"engineId":"acme","version":"1.2.3"}]',
  GATEWAY_URL: 'https://gateway.example.com/live',
  JWKS_URL: 'https://login.example.com/keys',
  JWT_ISSUER: 'https://login.example.com/',
  RUNS_QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/111122223333/runs',
  OUTBOX_FAILURES_QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/111122223333/outbox-failed',
  USAGE_FAILURES_QUEUE_URL: 'https://sqs.eu-west-1.amazonaws.com/111122223333/usage-failed',
  TASK_SECURITY_GROUPS: 'sg-1',
  TASK_SUBNETS: 'subnet-1,subnet-2',
};

describe('bundles of the functions', () => {
  let directory: string;
  let exported: Record<string, string>;
  const fileOf = (name: string) => join(directory, `${name}.mjs`);

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nexusdesk-bundles-'));
    await build({
      absWorkingDir: PROJECT,
      entryPoints: FUNCTIONS.map(({ name }) => ({ in: `functions/${name}/index.ts`, out: name })),
      outdir: directory,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      platform: 'node',
      format: BUNDLING.format,
      target: BUNDLING.target,
      minify: BUNDLING.minify,
      keepNames: BUNDLING.keepNames,
      mainFields: [...BUNDLING.mainFields],
      banner: { js: BUNDLING.banner },
      logLevel: 'silent',
    });
    const bundles = FUNCTIONS.map((entry) => ({
      name: entry.name,
      file: fileOf(entry.name),
      environment: Object.fromEntries(
        environmentOf(entry).map((name) => [name, VALUES[name] ?? 'x']),
      ),
    }));
    const list = join(directory, 'bundles.json');
    await writeFile(list, JSON.stringify(bundles));
    const output = execFileSync(process.execPath, [LOADER, list], {
      encoding: 'utf8',
      // Nothing of the machine that runs the test, and no node_modules beside the files.
      env: { AWS_REGION: 'eu-west-1' },
      cwd: directory,
    });
    exported = JSON.parse(output) as Record<string, string>;
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  it.each(FUNCTIONS)('OPS-1 $name loads with the variables of the catalogue alone', ({ name }) => {
    expect(exported[name]).toBe('function');
  });

  it.each(FUNCTIONS)('$name is small enough to start fast', async ({ name }) => {
    const { size } = await stat(fileOf(name));
    expect(size).toBeLessThan(BYTES_AT_MOST);
  });
});
