import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CAPABILITIES, type Capability } from '#shared/contracts/index.ts';
import { codexCliExecAdapter as adapter } from '#shared/engines/codex/cli-exec/adapter.ts';
import { tomlString } from '#shared/engines/codex/cli-exec/config-toml.ts';
import type { EngineLocations } from '#shared/engines/index.ts';
import { executionRequest, memoryContext, type RequestOptions } from './support.ts';

const EVERYTHING: readonly Capability[] = [
  'session_resume',
  'persistent_session',
  'cancellation',
  'tool_calling',
  'file_operations',
  'terminal_execution',
  'native_events',
];
const without = (...names: Capability[]) => EVERYTHING.filter((name) => !names.includes(name));
const THREAD_ID = '01a22e42-479c-7b32-94df-98fc28575ee3';
const PROVIDER = { baseUrl: 'http://127.0.0.1:4000/v1', credential: 'mine' };
const MODEL = { model: 'offline-scripted', provider: PROVIDER };

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'codex-layout-'));
  await install('good', '0.171.4-linux-x64', 'linux-x64', 'x86_64-unknown-linux-musl');
  await install('arm', '0.171.0-darwin-arm64', 'darwin-arm64', 'aarch64-apple-darwin');
  await install('newer', '0.172.0-linux-x64', 'linux-x64', 'x86_64-unknown-linux-musl');
  await install('broken', '0.171.0-linux-x64', 'linux-x64', undefined);
});
afterAll(() => rm(root, { recursive: true }));

async function install(name: string, version: string, key: string, target: string | undefined) {
  const folder = join(root, name, 'codex/node_modules/@openai', `codex-${key}`);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: '@openai/codex', version }));
  if (target === undefined) return;
  const bin = join(folder, 'vendor', target, 'bin');
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, 'codex'), '');
  await chmod(join(bin, 'codex'), 0o755);
}

function locations(name: string, overrides: Partial<EngineLocations> = {}): EngineLocations {
  const programsRoot = join(root, name);
  return { programsRoot, nodePath: process.execPath, platform: 'linux', arch: 'x64', ...overrides };
}

async function prepare(
  options: RequestOptions = {},
  overrides: Parameters<typeof memoryContext>[0] = {},
) {
  const context = memoryContext({
    locations: locations('good'),
    credentials: { openai: 'key-of-the-tenant', mine: 'my-key' },
    ...overrides,
  });
  const { launch } = await adapter.prepare(executionRequest(adapter.descriptor, options), context);
  return { launch, files: context.files, config: context.files.get('codex/config.toml') ?? '' };
}

describe('where Codex is', () => {
  it.each([
    ['good', {}, { available: true, version: '0.171.4' }],
    ['arm', { platform: 'darwin', arch: 'arm64' }, { available: true, version: '0.171.0' }],
  ] as const)('%s', async (name, where, expected) => {
    expect(await adapter.probe(locations(name, where))).toEqual(expected);
  });

  it.each([
    [
      'newer',
      {},
      'engine_version_unsupported',
      /0\.172\.0 is installed; this adapter supports ~0\.171\.0/,
    ],
    ['broken', {}, 'engine_not_installed', /incomplete/],
    [
      'nowhere',
      {},
      'engine_not_installed',
      /not installed \(run: nexusdesk engines install codex\)/,
    ],
    ['good', { arch: 'riscv64' }, 'engine_not_installed', /no program for linux-riscv64/],
  ] as const)('%s %o is %s', async (name, where, code, reason) => {
    const probed = await adapter.probe(locations(name, where));
    expect(probed).toEqual({ available: false, reason: expect.stringMatching(reason) });
    const refused = prepare({}, { locations: locations(name, where) });
    await expect(refused).rejects.toMatchObject({ code });
  });

  it('is its native program, never the wrapper', async () => {
    const { launch } = await prepare();
    const vendor = join(
      root,
      'good/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl',
    );
    expect(launch.argv[0]).toBe(join(vendor, 'bin/codex'));
    expect(launch.readOnlyPaths).toEqual([vendor]);
  });
});

describe('how Codex is started', () => {
  it('B161 B163 with the prompt on stdin and never among the arguments', async () => {
    const prompt = `--version\n${'é'.repeat(80_000)}`;
    const { launch, files } = await prepare({ prompt });
    expect(launch.stdin).toBe(prompt);
    expect(launch.argv.at(-1)).toBe('-');
    expect([...launch.argv, ...files.values()].join('\n')).not.toContain('éé');
  });

  it('SEC-2 B130 with the key in one file of its home and nowhere else', async () => {
    const { launch, files, config } = await prepare({ config: MODEL });
    expect(files.get('codex/model-key')).toBe('my-key');
    const { 'codex/model-key': _key, ...rest } = Object.fromEntries(files);
    const shown = [
      ...launch.argv,
      ...Object.values(launch.env),
      launch.stdin,
      ...Object.values(rest),
    ];
    expect(shown.join('\n')).not.toContain('my-key');
    expect(config).toContain('"/run/home/codex/model-key"');
  });

  it('B151 with an environment and a home of its own: two runs in one host share nothing', async () => {
    const before = { ...process.env };
    const [first, second] = await Promise.all([
      prepare({ config: MODEL }, { credentials: { mine: 'secret-1' } }),
      prepare({ config: MODEL }, { credentials: { mine: 'secret-2' } }),
    ]);
    expect(first.files.get('codex/model-key')).toBe('secret-1');
    expect(second.files.get('codex/model-key')).toBe('secret-2');
    expect(process.env).toEqual(before);
    expect(Object.keys(first.launch.env).sort()).toEqual([
      'CODEX_HOME',
      'HOME',
      'LANG',
      'NO_COLOR',
      'PATH',
      'RUST_LOG',
      'TMPDIR',
    ]);
  });

  it.each([
    ['all, inside a sandbox of ours', EVERYTHING, true, 'danger-full-access', 'true'],
    ['all, with nothing around it', EVERYTHING, false, 'workspace-write', 'true'],
    ['no commands', without('terminal_execution'), true, 'danger-full-access', 'false'],
    ['no file changes', without('file_operations'), true, 'read-only', 'true'],
    ['no file changes, unfenced', without('file_operations'), false, 'read-only', 'true'],
    ['no tools', without('tool_calling'), true, 'read-only', 'false'],
  ] as const)('CAP-3 with %s', async (_name, effective, filesystem, sandbox, shell) => {
    const isolation = { filesystem, network: true };
    const { launch, config } = await prepare({ effective }, { isolation });
    expect(launch.argv[launch.argv.indexOf('--sandbox') + 1]).toBe(sandbox);
    expect(config).toContain(`shell_tool = ${shell}\n`);
  });

  it('without any reach beyond the model', async () => {
    const { config, launch } = await prepare();
    for (const setting of [
      'plugins = false',
      'apps = false',
      'hooks = false',
      'unbounded_connection_retries = false',
      'web_search = "disabled"',
      'check_for_update_on_startup = false',
      '[analytics]\nenabled = false',
      '[agents]\nenabled = false',
      '[shell_environment_policy]\ninherit = "core"',
      'approval_policy = "never"',
      'base_url = "https://api.openai.com/v1"',
    ]) {
      expect(config).toContain(setting);
    }
    expect(launch.argv).toContain('--strict-config');
    expect(launch.interruptSignal).toBe('SIGINT');
  });

  it('a model that Codex does not know gets a catalogue with the tools of the run', async () => {
    const { files, config } = await prepare({
      config: MODEL,
      effective: without('terminal_execution'),
    });
    expect(config).toContain('model_catalog_json = "/run/home/codex/model-catalog.json"');
    expect(JSON.parse(files.get('codex/model-catalog.json') ?? '')).toMatchObject({
      models: [
        { slug: 'offline-scripted', shell_type: 'disabled', apply_patch_tool_type: 'freeform' },
      ],
    });
    const known = await prepare({ config: { model: 'gpt-5.5' } });
    expect([...known.files.keys()]).toEqual(['codex/model-key', 'codex/config.toml']);
  });

  it('resuming comes after the options, with the sandbox always given', async () => {
    const { launch } = await prepare({ nativeSessionId: THREAD_ID });
    expect(launch.argv.slice(-3)).toEqual(['resume', THREAD_ID, '-']);
    expect(launch.argv.indexOf('--sandbox')).toBeLessThan(launch.argv.indexOf('resume'));
  });

  it('an output schema is a file in its home', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } } };
    const { launch, files } = await prepare({ config: { outputSchema } });
    const path = launch.argv[launch.argv.indexOf('--output-schema') + 1];
    expect(path).toBe('/run/home/codex/output-schema.json');
    expect(JSON.parse(files.get('codex/output-schema.json') ?? '')).toEqual(outputSchema);
  });

  it('text in the configuration stays text', () => {
    expect(tomlString('a"b\\c\nd\u007f')).toBe('"a\\"b\\\\c\\nd\\u007f"');
  });
});

describe('what Codex is not started with', () => {
  const declared = adapter.descriptor.declared;
  it.each(CAPABILITIES.filter((name) => !declared[name]))(
    'the capability %s',
    async (capability) => {
      const refused = prepare({ effective: [...EVERYTHING, capability] });
      await expect(refused).rejects.toMatchObject({
        code: 'unsupported_capability',
        record: { details: { unsupported: [capability] } },
      });
    },
  );

  it.each([
    ['an unknown field', { modle: 'x' }, 'config'],
    ['a model that is an option', { model: '--help' }, 'config.model'],
    [
      'a key in the URL',
      { provider: { ...PROVIDER, baseUrl: 'http://u:p@h/v1' } },
      'config.provider.baseUrl',
    ],
    [
      'a file URL',
      { provider: { ...PROVIDER, baseUrl: 'file:///etc' } },
      'config.provider.baseUrl',
    ],
    [
      'a key instead of a name',
      { provider: { ...PROVIDER, credential: 'sk abc' } },
      'config.provider.credential',
    ],
    ['a schema that is none', { outputSchema: { type: 'nonsense' } }, 'config.outputSchema'],
  ])('%s', async (_name, config, field) => {
    await expect(prepare({ config })).rejects.toMatchObject({
      code: 'engine_config_invalid',
      record: { field },
    });
  });

  it.each([
    ['B160 a NUL in the prompt', { prompt: 'key is a\u0000b' }, 'argument_invalid'],
    ['B163 a prompt of nothing', { prompt: ' \n\ufeff' }, 'argument_invalid'],
    ['a session id that is no thread', { nativeSessionId: '--last' }, 'argument_invalid'],
    [
      'a session in a run that may not resume',
      { nativeSessionId: THREAD_ID, effective: without('session_resume') },
      'unsupported_capability',
    ],
  ] as const)('%s', async (_name, options, code) => {
    await expect(prepare(options)).rejects.toMatchObject({ code });
  });

  it('a credential that is missing, or could not be sent', async () => {
    await expect(prepare({}, { credentials: {} })).rejects.toMatchObject({
      code: 'credential_unavailable',
    });
    await expect(prepare({}, { credentials: { openai: 'a\nb' } })).rejects.toMatchObject({
      code: 'argument_invalid',
    });
  });

  it('a home inside its temporary directory, where every sandboxed command would fail', async () => {
    const inside = prepare({}, { homeDir: '/run/tmp/home' });
    await expect(inside).rejects.toMatchObject({ code: 'workdir_unavailable' });
  });
});

describe('the credentials that Codex needs', () => {
  it.each([
    [{}, ['openai']],
    [MODEL, ['mine']],
  ])('%o', (config, names) => {
    expect(adapter.descriptor.credentialNames(config)).toEqual(names);
  });
});
