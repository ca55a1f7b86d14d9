import { createHash } from 'node:crypto';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SendMessageBatchCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type SqsPart, TestQueue } from './fixture.ts';

const KIB = 1024;

/** Messages: what is sent comes back; what may be sent; batches. */
export function messages({ it, endpoint }: SqsPart): void {
  const create = (attributes = {}) => TestQueue.create(endpoint(), attributes);
  const md5 = (text: string) => createHash('md5').update(text).digest('hex');
  const entries = (count: number, idOf = (index: number) => `id-${index}`) =>
    Array.from({ length: count }, (_, index) => ({
      Id: idOf(index),
      MessageBody: `body-${index}`,
    }));

  describe('messages', () => {
    it('delivers the body with its digest', async () => {
      const queue = await create();
      const text = 'héllo\n\t"𝄞"';
      const sent = await queue.send(text);
      expect(sent.MD5OfMessageBody).toBe(md5(text));
      const message = await queue.next();
      expect(message).toMatchObject({
        MessageId: sent.MessageId,
        Body: text,
        MD5OfBody: md5(text),
      });
    });

    it('delivers message attributes with a digest that the sender got too', async () => {
      const queue = await create();
      const sent = await queue.send('x', {
        MessageAttributes: {
          text: { DataType: 'String', StringValue: 'v' },
          count: { DataType: 'Number.int', StringValue: '5' },
          bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([0, 255]) },
        },
      });
      const message = await queue.next({ MessageAttributeNames: ['All'] });
      expect(message.MessageAttributes).toMatchObject({
        text: { DataType: 'String', StringValue: 'v' },
        count: { DataType: 'Number.int', StringValue: '5' },
        bytes: { DataType: 'Binary' },
      });
      expect(Buffer.from(message.MessageAttributes?.bytes?.BinaryValue ?? [])).toEqual(
        Buffer.from([0, 255]),
      );
      expect(sent.MD5OfMessageAttributes).toMatch(/^[0-9a-f]{32}$/);
      expect(message.MD5OfMessageAttributes).toBe(sent.MD5OfMessageAttributes);
    });

    it('computes the digest of attributes as AWS was seen to', async () => {
      // Recorded from the service: String attributes General, Hello and Help.Me.
      const queue = await create();
      const attribute = (StringValue: string) => ({ DataType: 'String', StringValue });
      const sent = await queue.send('msg', {
        MessageAttributes: {
          Hello: attribute('There'),
          'Help.Me': attribute('Me'),
          General: attribute('Kenobi'),
        },
      });
      expect(sent.MD5OfMessageAttributes).toBe('4c360f3fdafd970e05fae2f149d997f5');
      // Only what is answered is in the digest: Hello and Help.Me.
      const message = await queue.next({ MessageAttributeNames: ['Hel.*', 'none'] });
      expect(message.MD5OfMessageAttributes).toBe('83fee93c1bcd8b9a5a923ffacdc636c7');
    });

    it('selects message attributes by name and by prefix', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      const attribute = { DataType: 'String', StringValue: 'v' };
      await queue.send('x', {
        MessageAttributes: { 'run.id': attribute, 'run.at': attribute, other: attribute },
      });
      const namesFor = async (...MessageAttributeNames: string[]) =>
        Object.keys((await queue.next({ MessageAttributeNames })).MessageAttributes ?? {}).sort();
      expect(await namesFor('other')).toEqual(['other']);
      expect(await namesFor('run.*')).toEqual(['run.at', 'run.id']);
      expect(await namesFor('.*')).toEqual(['other', 'run.at', 'run.id']);
    });

    it('keeps attributes to itself until asked', async () => {
      const queue = await create();
      await queue.send('x', {
        MessageAttributes: { text: { DataType: 'String', StringValue: 'v' } },
      });
      const message = await queue.next();
      expect(message.MessageAttributes).toBeUndefined();
      expect(message.Attributes).toBeUndefined();
    });

    it('counts receives and tells times', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      await queue.send('x');
      const first = await queue.next({ MessageSystemAttributeNames: ['All'] });
      const second = await queue.next({ MessageSystemAttributeNames: ['All'] });
      expect(first.Attributes?.ApproximateReceiveCount).toBe('1');
      expect(second.Attributes?.ApproximateReceiveCount).toBe('2');
      expect(second.Attributes?.SentTimestamp).toBe(first.Attributes?.SentTimestamp);
      expect(second.Attributes?.ApproximateFirstReceiveTimestamp).toBe(
        first.Attributes?.ApproximateFirstReceiveTimestamp,
      );
      expect(Number(first.Attributes?.SentTimestamp)).toBeGreaterThan(1e12);
    });

    it('answers the old parameter for system attributes', async () => {
      const queue = await create();
      await queue.send('x');
      const message = await queue.next({ AttributeNames: ['All'] });
      expect(message.Attributes?.ApproximateReceiveCount).toBe('1');
    });

    it('keeps the group and the trace of a message on a standard queue', async () => {
      const queue = await create();
      await queue.send('x', {
        MessageGroupId: 'tenant-1',
        MessageSystemAttributes: {
          AWSTraceHeader: { DataType: 'String', StringValue: 'Root=1-2-3' },
        },
      });
      const message = await queue.next({ MessageSystemAttributeNames: ['All'] });
      expect(message.Attributes).toMatchObject({
        MessageGroupId: 'tenant-1',
        AWSTraceHeader: 'Root=1-2-3',
      });
    });

    it('takes a message of 1 MiB and refuses one byte more', async () => {
      const queue = await create();
      const largest = 'x'.repeat(KIB * KIB);
      await queue.send(largest);
      expect((await queue.next()).Body?.length).toBe(largest.length);
      await failure(queue.send(`${largest}x`), 'InvalidParameterValue');
    });

    it('keeps to the limit of the queue', async () => {
      const queue = await create({ MaximumMessageSize: '1024' });
      await queue.send('x'.repeat(KIB));
      await failure(queue.send('x'.repeat(KIB + 1)), 'InvalidParameterValue');
    });

    it('counts attributes into the size', async () => {
      const queue = await create({ MaximumMessageSize: '1024' });
      const call = queue.send('x'.repeat(KIB - 5), {
        MessageAttributes: { a: { DataType: 'String', StringValue: 'v' } },
      });
      await failure(call, 'InvalidParameterValue');
    });

    it('refuses an empty body', async () => {
      const queue = await create();
      await failure(queue.send(''), 'MissingParameter');
    });

    it('refuses characters outside XML', async () => {
      const queue = await create();
      for (const text of ['a\u0001b', '\u0000', '\ufffe']) {
        await failure(queue.send(text), 'InvalidMessageContents');
      }
    });

    it('refuses attributes of unknown types', async () => {
      const queue = await create();
      const a = { DataType: 'Colour', StringValue: 'blue' };
      await failure(queue.send('x', { MessageAttributes: { a } }), 'InvalidParameterValue');
    });

    it('refuses attributes without a value, and numbers that are none', async () => {
      const queue = await create();
      for (const a of [
        { DataType: 'String', StringValue: '' },
        { DataType: 'Number', StringValue: 'many' },
      ]) {
        await failure(queue.send('x', { MessageAttributes: { a } }), 'InvalidParameterValue');
      }
    });

    it('refuses to receive more than ten, or none', async () => {
      const queue = await create();
      for (const MaxNumberOfMessages of [0, 11]) {
        await failure(queue.receive({ MaxNumberOfMessages }), 'InvalidParameterValue');
      }
    });

    it('sends, hides and deletes ten at once', async () => {
      const queue = await create();
      const QueueUrl = queue.url;
      const sent = await queue.client.send(
        new SendMessageBatchCommand({ QueueUrl, Entries: entries(10) }),
      );
      expect(sent.Successful).toHaveLength(10);
      const received = await queue.receive();
      expect(received.map((message) => message.Body).sort()).toEqual(
        entries(10).map((entry) => entry.MessageBody),
      );
      const handles = received.map(({ ReceiptHandle }, index) => ({
        Id: String(index),
        ReceiptHandle,
      }));
      const hidden = await queue.client.send(
        new ChangeMessageVisibilityBatchCommand({
          QueueUrl,
          Entries: handles.map((entry) => ({ ...entry, VisibilityTimeout: 60 })),
        }),
      );
      expect(hidden.Successful).toHaveLength(10);
      const deleted = await queue.client.send(
        new DeleteMessageBatchCommand({ QueueUrl, Entries: handles }),
      );
      expect(deleted.Successful).toHaveLength(10);
      expect(await queue.attributes('ApproximateNumberOfMessagesNotVisible')).toEqual({
        ApproximateNumberOfMessagesNotVisible: '0',
      });
    });

    it('refuses batches that are empty, too many, ambiguous or badly named', async () => {
      const queue = await create();
      const batch = (Entries: { Id: string; MessageBody: string }[]) =>
        queue.client.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
      await failure(batch([]), 'EmptyBatchRequest');
      await failure(batch(entries(11)), 'TooManyEntriesInBatchRequest');
      await failure(batch(entries(2, () => 'same')), 'BatchEntryIdsNotDistinct');
      await failure(batch(entries(1, () => 'not:allowed')), 'InvalidBatchEntryId');
    });

    it('refuses a batch of more than 1 MiB together', async () => {
      const queue = await create();
      const half = { MessageBody: 'x'.repeat((KIB * KIB) / 2 + 1) };
      const call = queue.client.send(
        new SendMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: [
            { Id: 'a', ...half },
            { Id: 'b', ...half },
          ],
        }),
      );
      await failure(call, 'BatchRequestTooLong');
      expect(await queue.receive()).toEqual([]);
    });

    it('fails one entry of a send batch and takes the others', async () => {
      const queue = await create();
      const { Successful, Failed } = await queue.client.send(
        new SendMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: [
            { Id: 'good', MessageBody: 'good' },
            { Id: 'late', MessageBody: 'late', DelaySeconds: 901 },
          ],
        }),
      );
      expect(Successful?.map((entry) => entry.Id)).toEqual(['good']);
      expect(Failed).toMatchObject([{ Id: 'late', Code: 'InvalidParameterValue' }]);
      expect(await queue.bodies()).toEqual(['good']);
    });

    it('says that a refused entry is the sender’s fault', async () => {
      const queue = await create();
      const { Failed } = await queue.client.send(
        new SendMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: [{ Id: 'late', MessageBody: 'late', DelaySeconds: 901 }],
        }),
      );
      expect(Failed?.[0]?.SenderFault).toBe(true);
    });

    it('fails one entry of a delete batch and does the others', async () => {
      const queue = await create();
      await queue.send('x');
      const { ReceiptHandle } = await queue.next();
      const { Successful, Failed } = await queue.client.send(
        new DeleteMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: [
            { Id: 'good', ReceiptHandle },
            { Id: 'bad', ReceiptHandle: 'garbage' },
          ],
        }),
      );
      expect(Successful?.map((entry) => entry.Id)).toEqual(['good']);
      expect(Failed).toMatchObject([
        { Id: 'bad', SenderFault: true, Code: 'ReceiptHandleIsInvalid' },
      ]);
    });
  });
}
