import {
  CreateQueueCommand,
  DeleteQueueCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ListQueueTagsCommand,
  PurgeQueueCommand,
  TagQueueCommand,
  UntagQueueCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect } from 'vitest';
import { failure, uniqueName } from '../sdk.ts';
import { type SqsPart, TestQueue } from './fixture.ts';

/** Queues and their settings. */
export function queues({ it, endpoint }: SqsPart): void {
  const create = (attributes = {}) => TestQueue.create(endpoint(), attributes);

  describe('queues', () => {
    it('is found by name and listed by prefix', async () => {
      const queue = await create();
      const found = await queue.client.send(new GetQueueUrlCommand({ QueueName: queue.name }));
      expect(found.QueueUrl).toBe(queue.url);
      const listed = await queue.client.send(
        new ListQueuesCommand({ QueueNamePrefix: queue.name }),
      );
      expect(listed.QueueUrls).toEqual([queue.url]);
    });

    it('lists in pages', async () => {
      const prefix = uniqueName('page');
      const { client } = await create();
      for (const letter of ['a', 'b', 'c']) {
        await client.send(new CreateQueueCommand({ QueueName: `${prefix}-${letter}` }));
      }
      const page = (NextToken?: string) =>
        client.send(new ListQueuesCommand({ QueueNamePrefix: prefix, MaxResults: 2, NextToken }));
      const first = await page();
      const second = await page(first.NextToken);
      const names = [...(first.QueueUrls ?? []), ...(second.QueueUrls ?? [])];
      expect(first.QueueUrls).toHaveLength(2);
      expect(second.NextToken).toBeUndefined();
      expect(names.map((url) => url.at(-1))).toEqual(['a', 'b', 'c']);
    });

    it('has the defaults of the service', async () => {
      const queue = await create();
      expect(await queue.attributes('All')).toMatchObject({
        DelaySeconds: '0',
        MaximumMessageSize: '1048576',
        MessageRetentionPeriod: '345600',
        ReceiveMessageWaitTimeSeconds: '0',
        VisibilityTimeout: '30',
        ApproximateNumberOfMessages: '0',
        QueueArn: expect.stringMatching(/^arn:aws:sqs:us-east-1:\d{12}:queue-/),
      });
    });

    it('answers only the attributes asked for', async () => {
      const queue = await create();
      expect(Object.keys(await queue.attributes('VisibilityTimeout'))).toEqual([
        'VisibilityTimeout',
      ]);
      expect(await queue.attributes()).toEqual({});
    });

    it('is created again with the same attributes, and not with others', async () => {
      const queue = await create({ VisibilityTimeout: '5' });
      const again = (VisibilityTimeout: string) =>
        queue.client.send(
          new CreateQueueCommand({ QueueName: queue.name, Attributes: { VisibilityTimeout } }),
        );
      expect((await again('5')).QueueUrl).toBe(queue.url);
      const error = await failure(again('6'), 'QueueNameExists');
      expect(error.Code).toBe('QueueAlreadyExists');
    });

    it('names a missing queue in the new and the old way', async () => {
      const { client } = await create();
      const call = client.send(new GetQueueUrlCommand({ QueueName: uniqueName('none') }));
      const error = await failure(call, 'QueueDoesNotExist');
      expect(error.Code).toBe('AWS.SimpleQueueService.NonExistentQueue');
      expect(error.$metadata?.httpStatusCode).toBe(400);
    });

    it('carries the old code of an error in a header', async () => {
      const answer = await fetch(endpoint(), {
        method: 'POST',
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': 'AmazonSQS.GetQueueUrl',
          authorization: 'AWS4-HMAC-SHA256 Credential=test/20300101/us-east-1/sqs/aws4_request',
        },
        body: JSON.stringify({ QueueName: uniqueName('none') }),
      });
      expect(answer.headers.get('x-amzn-query-error')).toBe(
        'AWS.SimpleQueueService.NonExistentQueue;Sender',
      );
      expect(await answer.json()).toMatchObject({
        __type: 'com.amazonaws.sqs#QueueDoesNotExist',
        message: 'The specified queue does not exist.',
      });
    });

    it('refuses names that SQS refuses', async () => {
      const { client } = await create();
      for (const QueueName of ['', 'with space', 'a'.repeat(81)]) {
        const call = client.send(new CreateQueueCommand({ QueueName }));
        await failure(call, 'InvalidParameterValue');
      }
    });

    it('refuses a FIFO queue without its suffix', async () => {
      const { client } = await create();
      const call = client.send(
        new CreateQueueCommand({
          QueueName: uniqueName('plain'),
          Attributes: { FifoQueue: 'true' },
        }),
      );
      await failure(call, 'InvalidParameterValue');
    });

    it('refuses a standard queue with the suffix of FIFO queues', async () => {
      const { client } = await create();
      const call = client.send(new CreateQueueCommand({ QueueName: `${uniqueName('q')}.fifo` }));
      await failure(call, 'InvalidParameterValue');
    });

    it('refuses attribute values out of range', async () => {
      const queue = await create();
      for (const attributes of [
        { VisibilityTimeout: '43201' },
        { DelaySeconds: '901' },
        { MessageRetentionPeriod: '59' },
        { MaximumMessageSize: '1023' },
        { ReceiveMessageWaitTimeSeconds: '21' },
        { DelaySeconds: 'soon' },
      ]) {
        await failure(queue.set(attributes), 'InvalidAttributeValue');
      }
    });

    it('refuses attributes that do not exist', async () => {
      const queue = await create();
      const unknown = { Colour: 'blue' } as object;
      await failure(queue.set(unknown), 'InvalidAttributeName');
      await failure(queue.set({ ContentBasedDeduplication: 'true' }), 'InvalidAttributeName');
    });

    it('refuses to describe attributes that do not exist', async () => {
      const queue = await create();
      await failure(queue.attributes('Colour' as never), 'InvalidAttributeName');
    });

    it('changes attributes', async () => {
      const queue = await create();
      await queue.set({ VisibilityTimeout: '77' });
      expect(await queue.attributes('VisibilityTimeout')).toEqual({ VisibilityTimeout: '77' });
    });

    it('tags and untags', async () => {
      const queue = await create();
      const QueueUrl = queue.url;
      const tags = async () =>
        (await queue.client.send(new ListQueueTagsCommand({ QueueUrl }))).Tags;
      await queue.client.send(new TagQueueCommand({ QueueUrl, Tags: { a: '1', b: '2' } }));
      await queue.client.send(new TagQueueCommand({ QueueUrl, Tags: { b: '3' } }));
      expect(await tags()).toEqual({ a: '1', b: '3' });
      await queue.client.send(new UntagQueueCommand({ QueueUrl, TagKeys: ['a'] }));
      expect(await tags()).toEqual({ b: '3' });
    });

    it('purges everything', async () => {
      const queue = await create();
      await queue.send('one');
      await queue.send('two');
      await queue.client.send(new PurgeQueueCommand({ QueueUrl: queue.url }));
      expect(await queue.receive()).toEqual([]);
    });

    it('refuses to purge twice within a minute', async () => {
      const queue = await create();
      const purge = () => queue.client.send(new PurgeQueueCommand({ QueueUrl: queue.url }));
      await purge();
      const error = await failure(purge(), 'PurgeQueueInProgress');
      expect(error.$metadata?.httpStatusCode).toBe(403);
    });

    it('is gone after it was deleted', async () => {
      const queue = await create();
      await queue.send('lost');
      await queue.client.send(new DeleteQueueCommand({ QueueUrl: queue.url }));
      await failure(queue.send('late'), 'QueueDoesNotExist');
      await failure(queue.receive(), 'QueueDoesNotExist');
    });
  });
}
