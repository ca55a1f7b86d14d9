import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import { inProcess, type SqsSourceOptions, startSqsSource } from '#local/lambda/index.ts';

const bodiesOf = (event: SQSEvent) => event.Records.map((record) => record.body);

/** A queue whose undeleted messages show themselves again at once, and after three times in its DLQ. */
async function openQueue() {
  const endpoint: AwsEndpoint = await startAwsEndpoint({
    services: [
      openSqs({
        state: openStateDatabase(),
        region: 'us-east-1',
        accountId: '000000000000',
        endpointUrl: () => endpoint.url,
      }),
    ],
  });
  const sqs = new SQSClient({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  onTestFinished(async () => {
    sqs.destroy();
    await endpoint.close();
  });
  const create = async (name: string, attributes: Record<string, string>) =>
    String(
      (await sqs.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes })))
        .QueueUrl,
    );
  const deadUrl = await create('dead', {});
  const queueUrl = await create('runs', {
    VisibilityTimeout: '1',
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: 'arn:aws:sqs:us-east-1:000000000000:dead',
      maxReceiveCount: '2',
    }),
  });
  return { sqs, queueUrl, deadUrl };
}

type Queue = Awaited<ReturnType<typeof openQueue>>;

const send = (queue: Queue, ...bodies: string[]) =>
  queue.sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: queue.queueUrl,
      Entries: bodies.map((MessageBody, index) => ({ Id: String(index), MessageBody })),
    }),
  );

async function countIn(queue: Queue, url: string): Promise<number> {
  const { Attributes = {} } = await queue.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames: ['All'] }),
  );
  return (
    Number(Attributes.ApproximateNumberOfMessages) +
    Number(Attributes.ApproximateNumberOfMessagesNotVisible)
  );
}

const untilCount = (queue: Queue, url: string, count: number) =>
  vi.waitFor(async () => expect(await countIn(queue, url)).toBe(count), 15_000);

function start(
  queue: Queue,
  handler: (event: SQSEvent) => unknown,
  options: Partial<SqsSourceOptions> = {},
) {
  const source = startSqsSource({
    sqs: queue.sqs,
    queueUrl: queue.queueUrl,
    region: 'us-east-1',
    invoker: inProcess({
      name: 'workers/dispatch-run',
      timeoutMs: 30_000,
      load: async () => handler as never,
      onError: () => {},
    }),
    reportBatchItemFailures: true,
    ...options,
  });
  onTestFinished(() => source.stop());
  return source;
}

describe('a function behind a queue', () => {
  let queue: Queue;
  beforeEach(async () => {
    queue = await openQueue();
  });

  it('gets messages in the form of Lambda, and they are deleted', async () => {
    const events: SQSEvent[] = [];
    await queue.sqs.send(
      new SendMessageCommand({
        QueueUrl: queue.queueUrl,
        MessageBody: '{"runId":"1"}',
        MessageGroupId: 'tenant-a',
        MessageAttributes: {
          kind: { DataType: 'String', StringValue: 'start' },
          raw: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 3]) },
        },
      }),
    );
    start(queue, (event) => void events.push(event));
    await untilCount(queue, queue.queueUrl, 0);
    expect(events).toEqual([
      {
        Records: [
          {
            messageId: expect.any(String),
            receiptHandle: expect.any(String),
            body: '{"runId":"1"}',
            attributes: expect.objectContaining({
              ApproximateReceiveCount: '1',
              SentTimestamp: expect.stringMatching(/^\d{13}$/),
              MessageGroupId: 'tenant-a',
            }),
            messageAttributes: {
              kind: {
                stringValue: 'start',
                stringListValues: [],
                binaryListValues: [],
                dataType: 'String',
              },
              raw: {
                binaryValue: 'AQID',
                stringListValues: [],
                binaryListValues: [],
                dataType: 'Binary',
              },
            },
            md5OfBody: expect.stringMatching(/^[0-9a-f]{32}$/),
            md5OfMessageAttributes: expect.stringMatching(/^[0-9a-f]{32}$/),
            eventSource: 'aws:sqs',
            eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:runs',
            awsRegion: 'us-east-1',
          },
        ],
      },
    ]);
  });

  it('B53 keeps only the message it reported: the rest is done once, the bad one reaches the DLQ', async () => {
    const seen: string[] = [];
    await send(queue, 'good-1', 'bad', 'good-2');
    start(queue, (event) => {
      seen.push(...bodiesOf(event));
      return {
        batchItemFailures: event.Records.filter((record) => record.body === 'bad').map(
          (record) => ({ itemIdentifier: record.messageId }),
        ),
      };
    });
    await untilCount(queue, queue.deadUrl, 1);
    expect(seen.toSorted()).toEqual(['bad', 'bad', 'good-1', 'good-2']);
    expect(await countIn(queue, queue.queueUrl)).toBe(0);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('table is gone'))],
    ['B55 answers in a wrong form', () => ({ batchItemFailures: [{ itemIdentifier: '' }] })],
  ])('keeps the whole batch when it %s', async (_what, handler) => {
    await send(queue, 'one', 'two');
    start(queue, handler);
    await untilCount(queue, queue.deadUrl, 2);
    expect(await countIn(queue, queue.queueUrl)).toBe(0);
  });

  it('B65 has succeeded whatever it returns when failures are not reported one by one', async () => {
    await send(queue, 'one');
    start(queue, () => ({ batchItemFailures: [{ itemIdentifier: '' }] }), {
      reportBatchItemFailures: false,
    });
    await untilCount(queue, queue.queueUrl, 0);
    expect(await countIn(queue, queue.deadUrl)).toBe(0);
  });

  it('runs as often at once as it may, and no more', async () => {
    let running = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    await send(queue, '1', '2', '3', '4', '5');
    start(
      queue,
      async () => {
        running += 1;
        most = Math.max(most, running);
        if (running === 2) gate.resolve();
        await gate.promise;
        running -= 1;
      },
      { batchSize: 1, maxConcurrency: 2 },
    );
    await untilCount(queue, queue.queueUrl, 0);
    expect(most).toBe(2);
  });

  it('fills a batch for as long as its window lasts', async () => {
    const batches: string[][] = [];
    start(queue, (event) => void batches.push(bodiesOf(event)), {
      batchSize: 3,
      maxBatchingWindowMs: 20_000,
    });
    for (const body of ['1', '2', '3']) await send(queue, body);
    await untilCount(queue, queue.queueUrl, 0);
    expect(batches.map((batch) => batch.toSorted())).toEqual([['1', '2', '3']]);
  });

  it('is woken by a message although its last poll found nothing', async () => {
    const seen = Promise.withResolvers<string[]>();
    start(queue, (event) => seen.resolve(bodiesOf(event)));
    await send(queue, 'late');
    expect(await seen.promise).toEqual(['late']);
  });

  it('is let finish when its source stops, and its messages are deleted', async () => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    await send(queue, 'one');
    const source = start(queue, async () => {
      begun.resolve();
      await gate.promise;
    });
    await begun.promise;
    const stopped = source.stop();
    gate.resolve();
    await stopped;
    expect(await countIn(queue, queue.queueUrl)).toBe(0);
    await send(queue, 'two');
    expect(await countIn(queue, queue.queueUrl)).toBe(1);
  });

  it('B64 has its messages deleted although the first attempt to delete fails', async () => {
    await send(queue, 'one');
    let refusals = 1;
    let seen = 0;
    const flaky = {
      send: (command: object, ...rest: []) => {
        if (command instanceof DeleteMessageBatchCommand && refusals-- > 0) {
          return Promise.reject(new Error('socket hang up'));
        }
        return queue.sqs.send(command as never, ...rest);
      },
    } as unknown as SQSClient;
    start(
      queue,
      () => {
        seen += 1;
      },
      { sqs: flaky },
    );
    await untilCount(queue, queue.queueUrl, 0);
    expect(seen).toBe(1);
  });
});
