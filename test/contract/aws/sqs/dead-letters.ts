import {
  ListDeadLetterSourceQueuesCommand,
  ListMessageMoveTasksCommand,
  StartMessageMoveTaskCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect } from 'vitest';
import { failure, uniqueName } from '../sdk.ts';
import { type SqsPart, TestQueue } from './fixture.ts';

/** Dead-letter queues: what is received too often goes there, and can be moved back. */
export function deadLetters({ it, endpoint }: SqsPart): void {
  const create = (attributes = {}) => TestQueue.create(endpoint(), attributes);

  /** A queue whose messages are visible again at once, so that receives are counted without waiting. */
  const withDeadLetters = async (maxReceiveCount: number, attributes = {}) => {
    const dead = await create(attributes);
    const deadLetterTargetArn = await dead.arn();
    const source = await create({
      VisibilityTimeout: '0',
      RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount }),
      ...attributes,
    });
    return { dead, source };
  };

  describe('dead-letter queues', () => {
    it('get what was received as often as allowed, when it would be received once more', async () => {
      const { dead, source } = await withDeadLetters(2);
      await source.send('poison');
      expect(await source.bodies()).toEqual(['poison']);
      expect(await source.bodies()).toEqual(['poison']);
      expect(await dead.receive()).toEqual([]);
      expect(await source.bodies()).toEqual([]);
      const message = await dead.next({ MessageSystemAttributeNames: ['All'] });
      expect(message.Body).toBe('poison');
    });

    it('say where a message came from', async () => {
      const { dead, source } = await withDeadLetters(1);
      await source.send('poison');
      await source.receive();
      await source.receive();
      const message = await dead.next({ MessageSystemAttributeNames: ['All'] });
      expect(message.Attributes?.DeadLetterQueueSourceArn).toBe(await source.arn());
    });

    it('wake a long poll on them', async () => {
      const { dead, source } = await withDeadLetters(1);
      await source.send('poison');
      await source.receive();
      const waiting = dead.next();
      await source.receive();
      expect((await waiting).Body).toBe('poison');
    });

    it('do not hold up the messages behind', async () => {
      const { dead, source } = await withDeadLetters(1);
      await source.send('poison');
      await source.receive();
      await source.send('good');
      expect(await source.bodies()).toEqual(['good']);
      expect(await dead.bodies()).toEqual(['poison']);
    });

    it('keep the group of a FIFO message', async () => {
      const { dead, source } = await withDeadLetters(1, { FifoQueue: 'true' });
      await source.sendTo('g', 'poison');
      await source.receive();
      await source.receive();
      const message = await dead.next({ MessageSystemAttributeNames: ['All'] });
      expect(message).toMatchObject({ Body: 'poison', Attributes: { MessageGroupId: 'g' } });
    });

    it('list the queues they serve', async () => {
      const { dead, source } = await withDeadLetters(1);
      const { queueUrls } = await dead.client.send(
        new ListDeadLetterSourceQueuesCommand({ QueueUrl: dead.url }),
      );
      expect(queueUrls).toEqual([source.url]);
    });

    it('have to exist', async () => {
      const queue = await create();
      const deadLetterTargetArn = (await queue.arn()).replace(queue.name, uniqueName('none'));
      const policy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 1 });
      await failure(queue.set({ RedrivePolicy: policy }), 'InvalidParameterValue');
    });

    it('have to be of the same kind', async () => {
      const dead = await create({ FifoQueue: 'true' });
      const queue = await create();
      const policy = JSON.stringify({ deadLetterTargetArn: await dead.arn(), maxReceiveCount: 1 });
      await failure(queue.set({ RedrivePolicy: policy }), 'InvalidParameterValue');
    });

    it('are told by a policy that is complete and in range', async () => {
      const queue = await create();
      const deadLetterTargetArn = await queue.arn();
      for (const policy of [
        'not json',
        JSON.stringify({ deadLetterTargetArn }),
        JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 0 }),
        JSON.stringify({ deadLetterTargetArn: 'dummy', maxReceiveCount: 42 }),
      ]) {
        await failure(queue.set({ RedrivePolicy: policy }), 'InvalidParameterValue');
      }
    });

    it('are moved back to where they came from', async () => {
      const { dead, source } = await withDeadLetters(1);
      await source.send('poison');
      await source.receive();
      await source.receive();
      const SourceArn = await dead.arn();
      const { TaskHandle } = await dead.client.send(new StartMessageMoveTaskCommand({ SourceArn }));
      expect(TaskHandle).toBeTruthy();
      const message = await source.next({ MessageSystemAttributeNames: ['All'] });
      expect(message).toMatchObject({
        Body: 'poison',
        Attributes: { ApproximateReceiveCount: '1' },
      });
    });

    it('are moved to another queue, and the task tells how many', async () => {
      const { dead } = await withDeadLetters(1);
      const target = await create();
      for (const text of ['a', 'b', 'c']) await dead.send(text);
      const SourceArn = await dead.arn();
      await dead.client.send(
        new StartMessageMoveTaskCommand({ SourceArn, DestinationArn: await target.arn() }),
      );
      const moved: (string | undefined)[] = [];
      while (moved.length < 3) moved.push((await target.next()).Body);
      expect(moved.sort()).toEqual(['a', 'b', 'c']);
      const { Results } = await dead.client.send(new ListMessageMoveTasksCommand({ SourceArn }));
      expect(Results).toMatchObject([
        { SourceArn, ApproximateNumberOfMessagesMoved: 3, ApproximateNumberOfMessagesToMove: 3 },
      ]);
    });

    it('are moved only out of queues that are dead-letter queues', async () => {
      const queue = await create();
      const call = queue.client.send(
        new StartMessageMoveTaskCommand({ SourceArn: await queue.arn() }),
      );
      await failure(call, 'InvalidParameterValue');
    });

    it('are not moved to queues that do not exist', async () => {
      const { dead } = await withDeadLetters(1);
      const SourceArn = await dead.arn();
      const DestinationArn = SourceArn.replace(dead.name, uniqueName('none'));
      const call = dead.client.send(new StartMessageMoveTaskCommand({ SourceArn, DestinationArn }));
      await failure(call, 'ResourceNotFoundException');
    });
  });
}
