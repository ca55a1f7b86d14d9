import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmulatorProcess, startEmulators } from './emulator-process.ts';
import { TestQueue } from './sqs/fixture.ts';

const ALL = { MessageSystemAttributeNames: ['All' as const] };

describe('SQS after its process was killed', () => {
  let directory: string;
  let running: EmulatorProcess;

  const start = async () => {
    running = await startEmulators('./sqs/serve.ts', join(directory, 'state.db'));
    return running.url;
  };

  /** The same queue on a new process, which has another port. */
  const killAndStart = async (queue: TestQueue) => {
    await running.kill();
    return queue.on(await start());
  };

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nexusdesk-sqs-'));
  });
  afterEach(async () => {
    await running.kill();
    await rm(directory, { recursive: true, force: true });
  });

  it('has its queues, attributes and waiting messages', async () => {
    const before = await TestQueue.create(await start(), { VisibilityTimeout: '77' });
    await before.send('a', { MessageGroupId: 'tenant' });
    await before.send('b');
    const after = await killAndStart(before);
    expect(await after.attributes('VisibilityTimeout', 'ApproximateNumberOfMessages')).toEqual({
      VisibilityTimeout: '77',
      ApproximateNumberOfMessages: '2',
    });
    expect(await after.bodies()).toEqual(['a', 'b']);
  });

  it('keeps what is in flight hidden, and shows it again with its receives counted', async () => {
    const before = await TestQueue.create(await start());
    await before.send('short');
    await before.send('long');
    const [first] = await before.receive({ MaxNumberOfMessages: 1, VisibilityTimeout: 2 });
    const [second] = await before.receive({ MaxNumberOfMessages: 1, VisibilityTimeout: 600 });
    expect([first?.Body, second?.Body]).toEqual(['short', 'long']);
    const after = await killAndStart(before);
    const again = await after.next(ALL);
    expect(again).toMatchObject({ Body: 'short', Attributes: { ApproximateReceiveCount: '2' } });
    expect(await after.attributes('ApproximateNumberOfMessagesNotVisible')).toEqual({
      ApproximateNumberOfMessagesNotVisible: '2',
    });
  });

  it('takes the receipt handles of before', async () => {
    const before = await TestQueue.create(await start());
    await before.send('a');
    await before.send('b');
    const [a, b] = await before.receive();
    const after = await killAndStart(before);
    await after.delete(a ?? {});
    await after.hide(b ?? {}, 0);
    expect(await after.bodies()).toEqual(['b']);
  });

  it('still dead-letters by the receives of before', async () => {
    const dead = await TestQueue.create(await start());
    const policy = { deadLetterTargetArn: await dead.arn(), maxReceiveCount: 2 };
    const source = await TestQueue.create(running.url, {
      VisibilityTimeout: '0',
      RedrivePolicy: JSON.stringify(policy),
    });
    await source.send('poison');
    await source.receive();
    await source.receive();
    const after = await killAndStart(source);
    expect(await after.receive()).toEqual([]);
    expect((await dead.on(running.url).next()).Body).toBe('poison');
  });

  it('remembers deduplication ids', async () => {
    const before = await TestQueue.create(await start(), { FifoQueue: 'true' });
    const sent = await before.sendTo('g', 'x');
    await before.delete(await before.next());
    const after = await killAndStart(before);
    expect((await after.sendTo('g', 'x')).MessageId).toBe(sent.MessageId);
    expect(await after.receive()).toEqual([]);
  });

  it('has every message whose sender had an answer, when it dies in the middle of sending', async () => {
    const before = await TestQueue.create(await start());
    const acknowledged: string[] = [];
    const sendUntilItDies = async (sender: number) => {
      for (let count = 0; ; count += 1) {
        const text = `${sender}-${count}`;
        await before.send(text);
        acknowledged.push(text);
        if (acknowledged.length === 40) void running.kill();
      }
    };
    await Promise.allSettled([1, 2, 3, 4].map(sendUntilItDies));
    await running.kill();
    const after = before.on(await start());
    const found: (string | undefined)[] = [];
    for (;;) {
      const bodies = await after.bodies();
      if (bodies.length === 0) break;
      found.push(...bodies);
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(40);
    expect(found).toEqual(expect.arrayContaining(acknowledged));
    expect(new Set(found).size).toBe(found.length);
  });
});
