import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type SqsPart, TestQueue } from './fixture.ts';

const RECEIVE_COUNT = {
  MessageSystemAttributeNames: ['ApproximateReceiveCount' as const],
};
const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const;

/** Who sees a message when: visibility timeouts, delays and long polls. Nothing here measures time. */
export function visibility({ it, endpoint }: SqsPart): void {
  const create = (attributes = {}) => TestQueue.create(endpoint(), attributes);

  describe('visibility', () => {
    it('hides a received message', async () => {
      const queue = await create();
      await queue.send('x');
      await queue.next();
      expect(await queue.receive()).toEqual([]);
    });

    it('shows a message again when its timeout ends', async () => {
      const queue = await create({ VisibilityTimeout: '1' });
      await queue.send('x');
      const first = await queue.next();
      const second = await queue.next(RECEIVE_COUNT);
      expect(second.Attributes?.ApproximateReceiveCount).toBe('2');
      expect(second.ReceiptHandle).not.toBe(first.ReceiptHandle);
    });

    it('takes the timeout of the receive over that of the queue', async () => {
      const queue = await create({ VisibilityTimeout: '600' });
      await queue.send('x');
      await queue.next({ VisibilityTimeout: 1 });
      expect((await queue.next()).Body).toBe('x');
    });

    it('shows a message at once when its timeout is set to 0', async () => {
      const queue = await create({ VisibilityTimeout: '600' });
      await queue.send('x');
      await queue.hide(await queue.next(), 0);
      expect(await queue.bodies()).toEqual(['x']);
    });

    it('hides a message for longer, or for less long', async () => {
      const queue = await create({ VisibilityTimeout: '600' });
      await queue.send('x');
      await queue.hide(await queue.next(), 1);
      const again = await queue.next({ VisibilityTimeout: 20 });
      await queue.hide(again, 600);
      expect(again.Body).toBe('x');
      expect(await queue.receive()).toEqual([]);
    });

    it('takes a late change on a standard queue while nobody else has the message', async () => {
      // Recorded from the service in November 2023, although its documentation speaks of an error.
      const queue = await create({ VisibilityTimeout: '600' });
      await queue.send('x');
      const message = await queue.next();
      await queue.hide(message, 0);
      await queue.hide(message, 600);
      expect(await queue.receive()).toEqual([]);
    });

    it('refuses handles that are none', async () => {
      const queue = await create();
      await failure(queue.hide({ ReceiptHandle: 'garbage' }, 5), 'ReceiptHandleIsInvalid');
      await failure(queue.delete({ ReceiptHandle: 'garbage' }), 'ReceiptHandleIsInvalid');
    });

    it('refuses a change of what was deleted', async () => {
      const queue = await create();
      await queue.send('x');
      const message = await queue.next();
      await queue.delete(message);
      await failure(queue.hide(message, 5), 'InvalidParameterValue');
    });

    it('refuses timeouts over twelve hours', async () => {
      const queue = await create();
      await queue.send('x');
      const message = await queue.next();
      await failure(queue.hide(message, 43_201), 'InvalidParameterValue');
      await failure(queue.receive({ VisibilityTimeout: 43_201 }), 'InvalidParameterValue');
    });

    it('deletes for good, and says so however often it is asked', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      await queue.send('x');
      const message = await queue.next();
      await queue.delete(message);
      await queue.delete(message);
      expect(await queue.receive()).toEqual([]);
    });

    it('deletes with the handle of a receive whose timeout has ended', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      await queue.send('x');
      await queue.delete(await queue.next());
      expect(await queue.receive()).toEqual([]);
    });

    it('does not delete with a handle that is not the latest', async () => {
      const queue = await create({ VisibilityTimeout: '0' });
      await queue.send('x');
      const stale = await queue.next();
      await queue.next();
      await queue.delete(stale);
      expect(await queue.bodies()).toEqual(['x']);
    });

    it('counts visible, hidden and delayed messages', async () => {
      const queue = await create();
      for (const text of ['a', 'b', 'c']) await queue.send(text);
      await queue.send('later', { DelaySeconds: 600 });
      await queue.next();
      expect(await queue.attributes(...COUNTS)).toEqual({
        ApproximateNumberOfMessages: '2',
        ApproximateNumberOfMessagesNotVisible: '1',
        ApproximateNumberOfMessagesDelayed: '1',
      });
    });
  });

  describe('delay', () => {
    it('holds a message back for its own delay', async () => {
      const queue = await create();
      await queue.send('late', { DelaySeconds: 600 });
      await queue.send('soon', { DelaySeconds: 1 });
      expect((await queue.next()).Body).toBe('soon');
      expect(await queue.receive()).toEqual([]);
    });

    it('holds messages back for the delay of the queue, unless they have their own', async () => {
      const queue = await create({ DelaySeconds: '600' });
      await queue.send('slow');
      await queue.send('fast', { DelaySeconds: 0 });
      expect(await queue.bodies()).toEqual(['fast']);
    });

    it('refuses delays over fifteen minutes', async () => {
      const queue = await create();
      await failure(queue.send('x', { DelaySeconds: 901 }), 'InvalidParameterValue');
    });
  });

  describe('long polls', () => {
    it('end when a message is sent', async () => {
      const queue = await create();
      const waiting = queue.next();
      // An answered call shows that the server serves others while the poll waits.
      await queue.attributes('All');
      await queue.send('wake up');
      expect((await waiting).Body).toBe('wake up');
    });

    it('end when a hidden message shows itself', async () => {
      const queue = await create({ VisibilityTimeout: '600' });
      await queue.send('x');
      const message = await queue.next();
      const waiting = queue.next();
      await queue.hide(message, 0);
      expect((await waiting).Body).toBe('x');
    });

    it('end empty when nothing comes', async () => {
      const queue = await create({ ReceiveMessageWaitTimeSeconds: '1' });
      expect(await queue.receive()).toEqual([]);
      expect(await queue.receive({ WaitTimeSeconds: 1 })).toEqual([]);
    });

    it('refuse to wait longer than twenty seconds', async () => {
      const queue = await create();
      await failure(queue.receive({ WaitTimeSeconds: 21 }), 'InvalidParameterValue');
    });
  });
}
