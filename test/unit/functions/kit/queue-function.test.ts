import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { launchMessageSchema } from '#shared/contracts/index.ts';
import { queueFunction } from '../../../../functions/kit/queue-function.ts';

const log = { info() {}, warn() {}, error() {} };
const context = {} as Context;
const good = (n: number) =>
  JSON.stringify({
    schemaVersion: '1',
    tenantId: 'acme',
    runId: `run_01J0000000000000000000000${n}`,
  });

function event(...bodies: string[]): SQSEvent {
  return { Records: bodies.map((body, n) => ({ messageId: `m${n + 1}`, body }) as SQSRecord) };
}

function handler(
  malformed: 'fail' | 'drop',
  run: (runId: string) => Promise<void> = async () => {},
) {
  const handled: string[] = [];
  const invoke = queueFunction({
    log,
    message: launchMessageSchema,
    malformed,
    run: async ({ runId }) => {
      handled.push(runId.slice(-1));
      await run(runId);
    },
  });
  return { handled, invoke: (input: SQSEvent) => invoke(input, context) };
}

describe('queue function', () => {
  it.each([
    '',
    'null',
    '[]',
    '"\\ud800"',
    '{"executionId":',
    '{"runId":"x"}',
    `${good(1).slice(0, -1)},"extra":1}`,
  ])('B53 reports a bad body alone and handles its neighbours: %s', async (bad) => {
    const { handled, invoke } = handler('fail');
    expect(await invoke(event(good(1), bad, good(3)))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm2' }],
    });
    expect(handled).toEqual(['1', '3']);
  });

  it('B65 answers success with exactly an empty list', async () => {
    expect(await handler('fail').invoke(event(good(1)))).toEqual({ batchItemFailures: [] });
  });

  it('B55 names only messages of the event, each once', async () => {
    const { invoke } = handler('fail', async (runId) => {
      if (!runId.endsWith('2')) throw new Error('no');
    });
    expect(await invoke(event(good(1), good(2), good(3)))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm3' }],
    });
  });

  it('drops a bad body where there is no further queue', async () => {
    expect(await handler('drop').invoke(event('nonsense'))).toEqual({ batchItemFailures: [] });
  });
});
