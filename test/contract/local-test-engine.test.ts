import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localTestNativeAdapter as adapter } from '#shared/engines/local-test/adapter.ts';
import type { ScriptStep } from '#shared/engines/local-test/script.ts';
import { payloadsOf } from '#test/unit/shared/engines/support.ts';
import { type DriveOptions, EngineDriver } from './drive-engine.ts';

const MIB = 1024 * 1024;

describe('ADP-1 the scripted engine', () => {
  let driver: EngineDriver;
  beforeAll(async () => {
    driver = await EngineDriver.open({
      adapter,
      locations: {
        programsRoot: join(import.meta.dirname, '../../containers'),
        nodePath: process.execPath,
        platform: process.platform,
        arch: process.arch,
      },
      credentials: { 'my-key': 'secret-of-the-tenant' },
    });
  });
  afterAll(() => driver.close());

  async function play(script: ScriptStep[], options: Omit<DriveOptions, 'config'> = {}) {
    const driven = await driver.start({
      ...options,
      config: { script } as DriveOptions['config'] & {},
    });
    return { ...driven, ...(await driven.ended) };
  }

  it('without a script says the prompt, writes it to a file and reports usage', async () => {
    const driven = await driver.start({ prompt: 'hello', config: {} });
    const { result } = await driven.ended;
    expect(result).toMatchObject({
      status: 'completed',
      usage: { inputTokens: 5, outputTokens: 1, modelCalls: 0, toolCalls: 1 },
    });
    expect(await readFile(join(driven.workdir.work, 'prompt.md'), 'utf8')).toBe('hello\n');
    expect(payloadsOf(driven.events, 'message.delta').length).toBeGreaterThan(1);
  });

  it('is deterministic: the same script is the same output', async () => {
    const script: ScriptStep[] = [
      { say: 'x', deltas: 2 },
      { tool: { name: 't' } },
      { complete: 'y' },
    ];
    const [first, second] = [await play(script), await play(script)];
    const texts = ({ records }: typeof first) => records.map(({ text }) => text);
    expect(texts(second)).toEqual(texts(first));
  });

  it.each([
    [{ crash: 'SIGKILL' }, /was ended by SIGKILL/],
    [{ crash: 'SIGSEGV' }, /was ended by SIGSEGV/],
    [{ crash: 7 }, /ended with exit code 7/],
    [{ crash: 0 }, /ended with exit code 0/],
  ] as const)('%o is engine_crashed', async (step, message) => {
    const { result } = await play([{ say: 'half' }, step]);
    expect(result).toMatchObject({
      status: 'failed',
      output: null,
      error: { code: 'engine_crashed', message: expect.stringMatching(message) },
    });
  });

  it('garbage, repeated records and late ones are told apart from its words', async () => {
    const { result, events } = await play([
      { garbage: 'not a record' },
      { garbage: Buffer.from([0xff, 0xfe, 0x00]).toString('base64'), encoding: 'base64' },
      { say: 'one' },
      { duplicate: true },
      { delayed: 'after the verdict' },
      { complete: 'done' },
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'done' });
    expect(payloadsOf(events, 'message.completed').map(({ text }) => text)).toEqual([
      'one',
      'after the verdict',
    ]);
    expect(payloadsOf(events, 'execution.diagnostic')).toHaveLength(2);
  });

  it('a last record without its newline counts when it is whole', async () => {
    const verdict = JSON.stringify({ type: 'completed', output: 'just in time' });
    const { result } = await play([{ garbage: verdict, newline: false }, { crash: 0 }]);
    expect(result).toMatchObject({ status: 'completed', output: 'just in time' });
  });

  it('B26 tools in the wrong order are each one tool', async () => {
    const { events } = await play([
      { tool: { name: 'a', order: 'reversed' } },
      { tool: { name: 'b', order: 'end_only', status: 'failed', exitCode: 2 } },
      { tool: { name: 'c', status: 'open' } },
    ]);
    expect(payloadsOf(events, 'tool.started').map(({ name }) => name)).toEqual(['c']);
    const ends = payloadsOf(events, 'tool.completed').map(({ name, status }) => [name, status]);
    expect(ends).toEqual([
      ['a', 'completed'],
      ['b', 'failed'],
      ['c', 'aborted'],
    ]);
  });

  it('HST-3 a flood of records is output_limit', async () => {
    const limits = { outputBytes: 2 * MIB };
    const { result, outcome } = await play([{ flood: 64 * MIB }], { limits });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'output_limit' } });
    expect(outcome.survivors).toBe(0);
  });

  it('TRM-8 a record without an end is cut, and the run goes on', async () => {
    const limits = { recordBytes: MIB };
    const { result, events } = await play(
      [{ flood: 4 * MIB, newline: false }, { say: 'still here' }],
      {
        limits,
      },
    );
    expect(result).toMatchObject({ status: 'completed', output: 'still here' });
    const [diagnostic] = payloadsOf(events, 'execution.diagnostic');
    expect(diagnostic?.truncatedBytes).toBeGreaterThan(4 * MIB - 8_192);
  });

  it('HST-3 too much memory is memory_limit', async () => {
    const limits = { memoryBytes: 256 * MIB };
    const { result } = await play([{ memory: 512 * MIB }, { wait: 'forever' }], { limits });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'memory_limit' } });
  });

  it('HST-2 a daemon does not outlive a run that ended well', async () => {
    const { result, outcome } = await play([{ spawnDaemon: { count: 3 } }, { complete: 'bye' }]);
    expect(result.status).toBe('completed');
    expect(outcome).toMatchObject({ survivors: 0, verifiedEmptyAt: expect.any(String) });
  });

  it('HST-2 the wall clock ends what waits for ever', async () => {
    const limits = { wallClockMs: 1_000 };
    const { result } = await play([{ ignoreSignals: true }, { wait: 'forever' }], { limits });
    expect(result).toMatchObject({ status: 'timed_out', error: { code: 'run_timed_out' } });
  });

  it('CAP-3 a report of a command in a run that may not run any stops it', async () => {
    const { result, outcome } = await play(
      [{ tool: { kind: 'command', name: 'shell' } }, { wait: 'forever' }],
      { effective: ['tool_calling', 'cancellation'] },
    );
    expect(outcome.cause).toBe('capability_violation');
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'capability_violation', class: 'PermissionDenied' },
    });
  });

  it('KRN-6 budgets of tool calls and of tokens stop it', async () => {
    const tool: ScriptStep = { tool: { name: 't' } };
    const calls = await play([tool, tool, { wait: 'forever' }], { budget: { toolCalls: 1 } });
    expect(calls.result).toMatchObject({ status: 'budget_exhausted', usage: { toolCalls: 2 } });
    const usage: ScriptStep = { usage: { inputTokens: 90, outputTokens: 20 } };
    const tokens = await play([usage, { wait: 'forever' }], { budget: { totalTokens: 100 } });
    expect(tokens.result.error?.details).toEqual({ budget: 'totalTokens', limit: 100, used: 110 });
  });

  it('SEC-2 a credential is in the environment of the engine, and masked in what it prints', async () => {
    const config = {
      script: [{ command: 'echo $CREDENTIAL_MY_KEY | tee key' }],
      credentials: ['my-key'],
    };
    const driven = await driver.start({ config });
    await driven.ended;
    expect(await readFile(join(driven.workdir.work, 'key'), 'utf8')).toBe('secret-of-the-tenant\n');
    expect(JSON.stringify(driven.events)).not.toContain('secret-of-the-tenant');
    expect(payloadsOf(driven.events, 'tool.completed')[0]?.output).toBe('***\n');
  });

  it('stderr is a diagnostic, and a failure says what the engine said', async () => {
    const { result, events } = await play([{ stderr: 'trouble\n' }, { fail: 'no way' }]);
    expect(result.error).toMatchObject({ code: 'engine_failed', message: 'no way' });
    expect(payloadsOf(events, 'execution.diagnostic')).toMatchObject([
      { kind: 'stderr', raw: 'trouble' },
    ]);
  });

  it('does not write where it may not', async () => {
    const { workdir, result } = await play([{ file: { path: 'a', content: 'x' } }, { say: 'ok' }], {
      effective: ['tool_calling', 'terminal_execution'],
    });
    expect(result.status).toBe('completed');
    expect(existsSync(join(workdir.work, 'a'))).toBe(false);
  });
});
