import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCli } from '#client/cli/run-cli.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { RUN_ID } from '../support/run-samples.ts';

/** The CLI in this process, with an API that must not be asked. */
async function refusalOf(args: readonly string[]) {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let requests = 0;
  const code = await runCli([...args, '--json'], {
    stdin: new PassThrough().end(),
    stdout,
    stderr,
    env: { NEXUSDESK_URL: 'http://api.example', NEXUSDESK_TOKEN: 'tok-1' },
    cwd: '/',
    userId: undefined,
    nodeVersion: '24.0.0',
    clock: new ManualClock(),
    fetch: async () => {
      requests += 1;
      throw new Error('nothing may be sent');
    },
    onInterrupt: () => () => undefined,
  });
  const { error } = JSON.parse(String(stderr.read())) as { error: Record<string, unknown> };
  return { code, requests, out: stdout.read() as unknown, error };
}

const run = ['run', '-e', 'acme', 'hi'];

describe('wrong usage', () => {
  it.each([
    [[], undefined],
    [['bogus'], undefined],
    [['runs', 'extra'], undefined],
    [[...run, '--bogus'], undefined],
    [['run', '-e', 'acme'], 'prompt'],
    [['run', '-e', 'acme', '-'], 'prompt'],
    [[...run, '--file', 'x'], 'prompt'],
    [[...run, '--timeout', '1e4'], '--timeout'],
    [[...run, '--timeout', '12px'], '--timeout'],
    [[...run, '--timeout', '60'], '--timeout'],
    [[...run, '--timeout', '25h'], '--timeout'],
    [[...run, '--config', '[1]'], '--config'],
    [[...run, '--set', 'x'], '--set'],
    [[...run, '--idempotency-key', 'a b'], '--idempotency-key'],
    [[...run, '--idempotency-key', ''], '--idempotency-key'],
    [['runs', '--limit', '0x10'], '--limit'],
    [['runs', '--limit', '0'], '--limit'],
    [['runs', '--limit', '1001'], '--limit'],
    [['runs', '--status', 'done'], '--status'],
    [['tail', 'run_1'], 'runId'],
    [['show', 'run_01jdzzzzzzzzzzzzzzzzzzzzzz'], 'runId'],
    [['cancel', '../health'], 'runId'],
    [['cancel'], 'runId'],
    [['cancel', RUN_ID, '--all'], 'runId'],
    [['cancel', RUN_ID, '--agent', 'a'], '--agent'],
    [['cancel', '--agent', 'a'], '--agent'],
  ])('B157 %j is refused with 64, the field %s, and without a request', async (args, field) => {
    const refusal = await refusalOf(args);
    expect(refusal).toMatchObject({ code: 64, requests: 0, out: null, error: { code: 'usage' } });
    expect(refusal.error.field).toBe(field);
    expect(refusal.error.message).not.toBe('');
  });
});
