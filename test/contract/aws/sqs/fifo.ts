import { createHash } from 'node:crypto';
import { SendMessageBatchCommand } from '@aws-sdk/client-sqs';
import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type SqsPart, TestQueue } from './fixture.ts';

/** FIFO queues: order within a group, and one delivery per deduplication id. */
export function fifo({ it, endpoint }: SqsPart): void {
  const create = (attributes = {}) =>
    TestQueue.create(endpoint(), { FifoQueue: 'true', ...attributes });

  describe('FIFO queues', () => {
    it('keep the order within a group', async () => {
      const queue = await create();
      for (const text of ['1', '2', '3', '4', '5']) await queue.sendTo('g', text);
      expect(await queue.bodies()).toEqual(['1', '2', '3', '4', '5']);
    });

    it('number messages upwards', async () => {
      const queue = await create();
      const numbers: bigint[] = [];
      for (let count = 0; count < 8; count += 1) {
        const { SequenceNumber = '' } = await queue.sendTo('g', `message-${count}`);
        numbers.push(BigInt(SequenceNumber));
      }
      expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(new Set(numbers).size).toBe(8);
    });

    it('hold a group back while one of its messages is in flight, and no other group', async () => {
      const queue = await create();
      await queue.sendTo('a', 'a1');
      await queue.sendTo('a', 'a2');
      await queue.sendTo('b', 'b1');
      const first = await queue.next();
      expect(first.Body).toBe('a1');
      expect(await queue.bodies()).toEqual(['b1']);
      await queue.delete(first);
      expect(await queue.bodies()).toEqual(['a2']);
    });

    it('keep the order when a message shows itself again', async () => {
      const queue = await create();
      for (const text of ['1', '2', '3']) await queue.sendTo('g', text);
      await queue.hide(await queue.next(), 0);
      expect(await queue.bodies()).toEqual(['1', '2', '3']);
    });

    it('deliver a deduplication id once, also after the message was deleted', async () => {
      const queue = await create();
      const first = await queue.sendTo('g', 'x');
      await queue.delete(await queue.next());
      const again = await queue.sendTo('g', 'x');
      expect(again.MessageId).toBe(first.MessageId);
      expect(await queue.receive()).toEqual([]);
    });

    it('deduplicate across groups', async () => {
      const queue = await create();
      await queue.send('from a', { MessageGroupId: 'a', MessageDeduplicationId: 'd' });
      await queue.send('from b', { MessageGroupId: 'b', MessageDeduplicationId: 'd' });
      expect(await queue.bodies()).toEqual(['from a']);
    });

    it('deduplicate within a group when that is their scope', async () => {
      const queue = await create({
        DeduplicationScope: 'messageGroup',
        FifoThroughputLimit: 'perMessageGroupId',
      });
      await queue.send('from a', { MessageGroupId: 'a', MessageDeduplicationId: 'd' });
      await queue.send('from b', { MessageGroupId: 'b', MessageDeduplicationId: 'd' });
      expect(await queue.bodies()).toEqual(['from a', 'from b']);
    });

    it('deduplicate by the hash of the body when the queue says so', async () => {
      const queue = await create({ ContentBasedDeduplication: 'true' });
      for (const text of ['same', 'same', 'other']) {
        await queue.send(text, { MessageGroupId: 'g' });
      }
      const received = await queue.receive({ MessageSystemAttributeNames: ['All'] });
      expect(received.map((message) => message.Body)).toEqual(['same', 'other']);
      expect(received[0]?.Attributes).toMatchObject({
        MessageGroupId: 'g',
        MessageDeduplicationId: createHash('sha256').update('same').digest('hex'),
      });
    });

    it('refuse a message without a group', async () => {
      const queue = await create();
      const call = queue.send('x', { MessageDeduplicationId: 'd' });
      await failure(call, 'MissingParameter');
    });

    it('refuse a message without a deduplication id', async () => {
      const queue = await create();
      await failure(queue.send('x', { MessageGroupId: 'g' }), 'InvalidParameterValue');
    });

    it('refuse a whole batch for an entry without its ids', async () => {
      const queue = await create();
      const call = queue.client.send(
        new SendMessageBatchCommand({
          QueueUrl: queue.url,
          Entries: [
            { Id: 'good', MessageBody: 'x', MessageGroupId: 'g', MessageDeduplicationId: 'd' },
            { Id: 'bad', MessageBody: 'x', MessageGroupId: 'g' },
          ],
        }),
      );
      await failure(call, 'InvalidParameterValue');
      expect(await queue.receive()).toEqual([]);
    });

    it('refuse a delay of one message', async () => {
      const queue = await create();
      const call = queue.send('x', {
        MessageGroupId: 'g',
        MessageDeduplicationId: 'd',
        DelaySeconds: 1,
      });
      await failure(call, 'InvalidParameterValue');
    });

    it('refuse a delete whose visibility timeout has ended', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      await queue.sendTo('g', 'x');
      const message = await queue.next();
      await failure(queue.delete(message), 'InvalidParameterValue');
      expect(await queue.bodies()).toEqual(['x']);
    });

    it('cannot become standard queues', async () => {
      const queue = await create();
      await failure(queue.set({ FifoQueue: 'false' }), 'InvalidAttributeValue');
    });
  });
}
