import {
  CreateQueueCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { describeWithMoto } from './moto.ts';

describeWithMoto((moto) => {
  const client = () =>
    new SQSClient({
      endpoint: moto().url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    });

  it('answers the real SDK, a message ends a long poll, and reset forgets', async () => {
    const sqs = client();
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
    const poll = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'wake up' }));
    expect((await poll).Messages?.map((message) => message.Body)).toEqual(['wake up']);
    await moto().reset();
    expect((await sqs.send(new ListQueuesCommand({}))).QueueUrls ?? []).toEqual([]);
  });
});
