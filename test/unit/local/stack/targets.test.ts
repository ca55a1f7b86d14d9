import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import { inProcess } from '#local/lambda/index.ts';
import { PLACE } from '#local/stack/place.ts';
import { sdkEnvironment } from '#local/stack/services.ts';
import { deliverToTargets } from '#local/stack/targets.ts';

let endpoint: AwsEndpoint;
beforeEach(async () => {
  const state = openStateDatabase();
  let url = '';
  const sqs = openSqs({ state, ...PLACE, endpointUrl: () => url });
  endpoint = await startAwsEndpoint({ services: [sqs] });
  url = endpoint.url;
  for (const [name, value] of Object.entries(sdkEnvironment(url))) vi.stubEnv(name, value);
});
afterEach(() => endpoint.close());

const signal = new AbortController().signal;
const target = (arn: string) => ({ arn, ruleName: 'rule' });

it('loads no function before its environment is complete, and then delivers what an earlier stack left', async () => {
  const ready = Promise.withResolvers<void>();
  const loadedWith: (string | undefined)[] = [];
  const taken: unknown[] = [];
  const functions = new Map([
    [
      'workers/settle-stopped-task',
      inProcess({
        name: 'settle-stopped-task',
        timeoutMs: 5_000,
        load: async () => {
          loadedWith.push(process.env.TABLE_NAME);
          return (async (event: unknown) => void taken.push(event)) as never;
        },
      }),
    ],
  ]);
  const deliver = deliverToTargets({ functions, ready: ready.promise, signal });
  const delivered = deliver(target('arn:aws:lambda:x:0:function:settle-stopped-task'), { n: 1 });
  vi.stubEnv('TABLE_NAME', 'the-table');
  ready.resolve();
  await delivered;
  expect({ loadedWith, taken }).toEqual({ loadedWith: ['the-table'], taken: [{ n: 1 }] });
});

it('sends an event to a queue as its body', async () => {
  const client = new SQSClient({});
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: 'followers' }));
  const deliver = deliverToTargets({ functions: new Map(), ready: Promise.resolve(), signal });
  await deliver(target('arn:aws:sqs:us-east-1:000000000000:followers'), { detail: { n: 1 } });
  const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl }));
  expect(Messages?.map(({ Body }) => JSON.parse(Body ?? ''))).toEqual([{ detail: { n: 1 } }]);
});

it('rejects what has no such target, so that it is offered again', async () => {
  const deliver = deliverToTargets({ functions: new Map(), ready: Promise.resolve(), signal });
  await expect(deliver(target('arn:aws:lambda:x:0:function:nobody'), {})).rejects.toThrow(/nobody/);
  await expect(deliver(target('arn:aws:sqs:x:0:nobody'), {})).rejects.toThrow();
});
