import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { Context, SQSEvent, SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import {
  type EventSource,
  inProcess,
  type LambdaHandler,
  startSqsSource,
} from '#local/lambda/index.ts';
import { executionError, MAX_PROMPT_BYTES } from '#shared/contracts/index.ts';
import { submitRun, sweepDueRuns } from '#shared/orchestrator/index.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import type { RunRef } from '#shared/runs/index.ts';
import { RUNS_QUEUE_MAX_RECEIVES } from '#shared/topology/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';
import { queuedHead } from '#test/support/run-builders.ts';
import { randomIds } from '../../../functions/kit/new-ids.ts';
import { dispatchRunHandler } from '../../../functions/workers/dispatch-run/handler.ts';
import { failDeadRunHandler } from '../../../functions/workers/fail-dead-run/handler.ts';

const PATIENCE = { timeout: 20_000 };

/** The launch queue and its dead letters on embedded SQS, with the real functions behind them. */
async function openQueues(bench: OrchestratorBench) {
  const state = openStateDatabase();
  const endpoint = await startAwsEndpoint({
    services: [
      openSqs({
        state,
        region: 'us-east-1',
        accountId: '000000000000',
        endpointUrl: (): string => endpoint.url,
      }),
    ],
  });
  const sqs = new SQSClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  const create = async (QueueName: string, Attributes: Record<string, string>) =>
    String((await sqs.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl);
  const deadUrl = await create('dead', { VisibilityTimeout: '1' });
  const url = await create('runs', {
    VisibilityTimeout: '1',
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead',
      maxReceiveCount: RUNS_QUEUE_MAX_RECEIVES,
    }),
  });
  const queue = new SqsRunQueue(sqs, url);
  const deps = { ...bench.deps, queue };
  const sources: EventSource[] = [];
  const consume = (queueUrl: string, name: string, handler: unknown, batchSize = 10) => {
    const invoker = inProcess({
      name,
      timeoutMs: 30_000,
      load: async () => handler as LambdaHandler,
      onError: () => {},
    });
    sources.push(
      startSqsSource({
        ...{ sqs, queueUrl, invoker, batchSize },
        region: 'us-east-1',
        reportBatchItemFailures: true,
      }),
    );
  };
  const left = async (queueUrl: string) => {
    const { Attributes = {} } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['All'] }),
    );
    return (
      Number(Attributes.ApproximateNumberOfMessages) +
      Number(Attributes.ApproximateNumberOfMessagesNotVisible) +
      Number(Attributes.ApproximateNumberOfMessagesDelayed)
    );
  };
  return {
    queue,
    deps,
    dispatch: dispatchRunHandler(async () => deps, deps.log),
    startDispatch: (batchSize?: number) =>
      consume(
        url,
        'dispatch',
        dispatchRunHandler(async () => deps, deps.log),
        batchSize,
      ),
    startDeadLetters: (ledger = deps.ledger) =>
      consume(deadUrl, 'dead', failDeadRunHandler({ ...deps, ledger })),
    send: (body: string, group: string) =>
      sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, MessageGroupId: group })),
    receive: async () =>
      (
        await sqs.send(
          new ReceiveMessageCommand({
            QueueUrl: url,
            MaxNumberOfMessages: 10,
            MessageSystemAttributeNames: ['All'],
          }),
        )
      ).Messages ?? [],
    waiting: () => left(url),
    dead: () => left(deadUrl),
    async close() {
      await Promise.all(sources.map((source) => source.stop()));
      sqs.destroy();
      await endpoint.close();
      state.close();
    },
  };
}

let bench: OrchestratorBench;
let queues: Awaited<ReturnType<typeof openQueues>>;
beforeEach(async () => {
  bench = await openOrchestratorBench();
  queues = await openQueues(bench);
});
afterEach(async () => {
  await queues.close();
  await bench.close();
});

const eventOf = (...runs: RunRef[]): SQSEvent => ({
  Records: runs.map(
    ({ tenantId, runId }, n) =>
      ({
        messageId: `m${n}`,
        body: JSON.stringify({ schemaVersion: '1', tenantId, runId }),
      }) as SQSRecord,
  ),
});
const statusOf = async (ref: RunRef) => (await bench.ledger.readHead(ref))?.status;
const untilStatus = (ref: RunRef, status: string) =>
  vi.waitFor(async () => expect(await statusOf(ref)).toBe(status), PATIENCE);
const launchesOf = ({ runId }: RunRef) =>
  new Set(bench.launches.flatMap(({ ref, epoch }) => (ref.runId === runId ? [epoch] : [])));

describe('the launch queue', () => {
  it('B59 is not stalled by a run that cannot be dispatched, neither for its tenant nor for others', async () => {
    const poison = await bench.accept({ tenantId: 'acme' });
    const [same, other] = [
      await bench.accept({ tenantId: 'acme' }),
      await bench.accept({ tenantId: 'rival' }),
    ];
    let broken = true;
    bench.onLaunch(async ({ ref, epoch }) => {
      if (broken && ref.runId === poison.runId) throw new Error('no answer');
      return { outcome: 'launched', taskArn: `arn:task/${ref.runId}/${epoch}` };
    });
    await queues.send('not even a message', 'acme');
    for (const head of [poison, same, other]) await queues.queue.send(bench.message(head));
    queues.startDispatch(1);
    const named = async (ref: RunRef) => (await bench.ledger.readHead(ref))?.taskArn;
    await vi.waitFor(async () => {
      expect(await named(same)).toBeDefined();
      expect(await named(other)).toBeDefined();
    }, PATIENCE);
    expect(await named(poison)).toBeUndefined();
    broken = false;
    await vi.waitFor(async () => expect(await named(poison)).toBeDefined(), PATIENCE);
    expect(launchesOf(poison)).toEqual(new Set([1]));
    // What is no message ends beside the queue, alone.
    await vi.waitFor(async () => expect(await queues.dead()).toBe(1), PATIENCE);
    await vi.waitFor(async () => expect(await queues.waiting()).toBe(0), PATIENCE);
  });

  it('B61 delivers the message of the next attempt at once: nothing is dropped as a repeat', async () => {
    const head = await bench.accept();
    let refusals = 1;
    bench.onLaunch(async ({ ref, epoch }) =>
      refusals-- > 0
        ? {
            outcome: 'refused',
            error: executionError('launch_failed', 'the image is not there yet'),
            permanent: false,
          }
        : { outcome: 'launched', taskArn: `arn:task/${ref.runId}/${epoch}` },
    );
    await queues.queue.send(bench.message(head));
    // The same text once more, within any window in which repeats could be dropped.
    await queues.queue.send(bench.message(head));
    const sent = await queues.receive();
    expect(sent.map(({ Attributes }) => Attributes?.MessageDeduplicationId)).toEqual([
      undefined,
      undefined,
    ]);
    queues.startDispatch();
    await vi.waitFor(() => expect(bench.launches.length).toBeGreaterThanOrEqual(2), PATIENCE);
    await untilStatus(head, 'starting');
    await vi.waitFor(async () => expect(await queues.waiting()).toBe(0), PATIENCE);
  });

  it('B62 carries names only: the longest that there are fit, a prompt is never in it', async () => {
    const caller = { tenantId: 't'.repeat(64), subject: 'me', scopes: [], expiresAtMs: 9e15 };
    const secret = 'a word of the prompt ';
    const { head } = await submitRun(
      { ...queues.deps, ids: randomIds },
      caller,
      {
        engine: { id: 'local_test' },
        input: { prompt: secret.repeat(Math.floor(MAX_PROMPT_BYTES / secret.length)) },
      },
      'k'.repeat(64),
    );
    const [message, ...others] = await queues.receive();
    expect(others).toEqual([]);
    expect(message?.Body).toBe(
      JSON.stringify({ schemaVersion: '1', tenantId: caller.tenantId, runId: head.runId }),
    );
    expect(message?.Attributes?.MessageGroupId).toBe(caller.tenantId);
    expect(Buffer.byteLength(message?.Body ?? '')).toBeLessThan(256);
  });

  it.each([
    ['300 KB of ASCII', 'x'.repeat(300 * 1024), 300 * 1024],
    ['70,000 characters of four bytes', '😀'.repeat(70_000), 280_000],
  ])(
    'B62 is sent nothing for a prompt of %s, which is refused by its bytes',
    async (_what, prompt, bytes) => {
      const submitted = submitRun(
        { ...queues.deps, ids: randomIds },
        { tenantId: 'acme', subject: 'me', scopes: [], expiresAtMs: 9e15 },
        { engine: { id: 'local_test' }, input: { prompt } },
        undefined,
      );
      await expect(submitted).rejects.toMatchObject({
        code: 'payload_too_large',
        message: expect.stringContaining(`${bytes} bytes`),
      });
      expect(await queues.waiting()).toBe(0);
      expect((await bench.ledger.listRuns('acme', { limit: 10 })).heads).toEqual([]);
    },
  );

  it('B62 may refuse a message: the run is accepted all the same, and the sweeper sends it', async () => {
    const refusing = {
      send: async () => {
        throw new Error('no room');
      },
    };
    const { head } = await submitRun(
      { ...queues.deps, queue: refusing, ids: randomIds },
      { tenantId: 'acme', subject: 'me', scopes: [], expiresAtMs: 9e15 },
      { engine: { id: 'local_test' }, input: { prompt: 'hello' } },
      undefined,
    );
    expect(await statusOf(head)).toBe('queued');
    bench.passMs(61_000);
    await sweepDueRuns(queues.deps);
    queues.startDispatch();
    await untilStatus(head, 'starting');
  });

  it('B64 is rid of messages whose run has been launched or has ended, without any effect', async () => {
    const ended = await bench.accept({ maxAttempts: 1 });
    bench.onLaunch(async () => ({
      outcome: 'refused',
      error: executionError('launch_failed', 'no such image'),
      permanent: true,
    }));
    await queues.dispatch(eventOf(ended), {} as Context);
    expect(await statusOf(ended)).toBe('failed');
    bench.onLaunch(undefined);
    const launched = await bench.accept();
    await queues.dispatch(eventOf(launched), {} as Context);
    const before = bench.launches.length;
    for (let copy = 0; copy < 5; copy += 1) {
      await queues.queue.send(bench.message(ended));
      await queues.queue.send(bench.message(launched));
    }
    queues.startDispatch();
    await vi.waitFor(async () => expect(await queues.waiting()).toBe(0), PATIENCE);
    expect(await queues.dead()).toBe(0);
    expect(bench.launches).toHaveLength(before);
  });
});

describe('dispatch', () => {
  it('B52 makes ten tasks of ten runs, although it died after the sixth and all came again', async () => {
    const runs = await Promise.all(Array.from({ length: 10 }, () => bench.accept()));
    const made = new Set<string>();
    let calls = 0;
    const sixth = Promise.withResolvers<void>();
    bench.onLaunch(async ({ ref, epoch, ticket }) => {
      calls += 1;
      if (calls === 6) sixth.resolve();
      // The task is made; of all but five, the function never hears of it.
      made.add(`${ref.runId}/${epoch}/${ticket}`);
      if (calls > 5) await new Promise(() => {});
      return { outcome: 'launched', taskArn: `arn:task/${ref.runId}/${epoch}` };
    });
    void queues.dispatch(eventOf(...runs), {} as Context);
    await sixth.promise;
    bench.onLaunch(async ({ ref, epoch, ticket }) => {
      made.add(`${ref.runId}/${epoch}/${ticket}`);
      return { outcome: 'launched', taskArn: `arn:task/${ref.runId}/${epoch}` };
    });
    expect(await queues.dispatch(eventOf(...runs), {} as Context)).toEqual({
      batchItemFailures: [],
    });
    expect(made.size).toBe(10);
    for (const head of runs) {
      expect(await bench.ledger.readHead(head)).toMatchObject({
        status: 'starting',
        attempt: 1,
        taskArn: `arn:task/${head.runId}/1`,
      });
    }
  });

  it('B58 acknowledges both of two deliveries at once, and makes one task of them', async () => {
    const head = await bench.accept();
    const made = new Set<string>();
    const both = Promise.withResolvers<void>();
    bench.onLaunch(async ({ ref, epoch, ticket }) => {
      made.add(`${ref.runId}/${epoch}/${ticket}`);
      await both.promise;
      return { outcome: 'launched', taskArn: `arn:task/${ref.runId}/${epoch}` };
    });
    const first = queues.dispatch(eventOf(head), {} as Context);
    await vi.waitFor(() => expect(made.size).toBe(1), PATIENCE);
    const second = queues.dispatch(eventOf(head), {} as Context);
    both.resolve();
    expect(await Promise.all([first, second])).toEqual([
      { batchItemFailures: [] },
      { batchItemFailures: [] },
    ]);
    expect(made.size).toBe(1);
    expect(await bench.ledger.readHead(head)).toMatchObject({ attempt: 1, epoch: 1 });
  });
});

describe('dead letters', () => {
  it('B56 end the run: failed and visible, never queued for ever', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      throw new Error('the network is down');
    });
    await queues.queue.send(bench.message(head));
    queues.startDispatch();
    queues.startDeadLetters();
    await untilStatus(head, 'failed');
    expect(await bench.ledger.readHead(head)).toMatchObject({ error: { code: 'dead_lettered' } });
    await vi.waitFor(async () => expect(await queues.dead()).toBe(0), PATIENCE);
  });

  it('B56 stay in their queue while they cannot be handled, and need nobody once they can', async () => {
    const head = queuedHead();
    await bench.accept(head);
    let broken = true;
    let tried = 0;
    const { ledger } = bench;
    const readHead: typeof ledger.readHead = async (ref) => {
      tried += 1;
      if (broken) throw new Error('the table is gone');
      return ledger.readHead(ref);
    };
    bench.onLaunch(async () => {
      throw new Error('the network is down');
    });
    await queues.queue.send(bench.message(head));
    queues.startDispatch();
    queues.startDeadLetters({ ...ledger, readHead });
    await vi.waitFor(() => expect(tried).toBeGreaterThan(1), PATIENCE);
    expect(await queues.dead()).toBe(1);
    broken = false;
    await untilStatus(head, 'failed');
    await vi.waitFor(async () => expect(await queues.dead()).toBe(0), PATIENCE);
  });
});
