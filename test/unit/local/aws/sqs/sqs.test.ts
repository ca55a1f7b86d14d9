import { afterEach, describe, expect, it } from 'vitest';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { LocalSqs } from './local-sqs.ts';

/** Only a hang reaches this, however busy the machine is. */
const PATIENT = { timeout: 10_000 };

const DAY_MS = 24 * 60 * 60_000;

let sqs = new LocalSqs();
afterEach(async () => {
  await sqs.close();
  sqs = new LocalSqs();
});

describe('for the process it runs in', () => {
  it('takes back what a dead receiver had, without counting the receive, and nothing else', async () => {
    const dead = await sqs.createQueue('dead');
    const queue = await sqs.createQueue('runs', { RedrivePolicy: sqs.redriveTo('dead', 1) });
    await sqs.send(queue, 'received');
    await sqs.receive(queue);
    await sqs.send(queue, 'delayed', { DelaySeconds: 60 });
    sqs.service.takeBack('runs');
    expect(await sqs.bodies(queue)).toEqual(['received']);
    expect(await sqs.bodies(queue)).toEqual([]);
    expect(await sqs.bodies(dead)).toEqual([]);
  });

  it('sends what another service delivers', async () => {
    const queue = await sqs.createQueue('followers');
    sqs.service.deliver('followers', 'an event');
    expect(await sqs.bodies(queue)).toEqual(['an event']);
    expect(() => sqs.service.deliver('nobody', 'an event')).toThrow(/nobody/);
  });
});

describe('a standard queue with message groups', () => {
  const fill = async (queue: string, group: string, count: number) => {
    for (let index = 0; index < count; index += 1) {
      await sqs.send(queue, `${group}-${index}`, { MessageGroupId: group });
    }
  };

  it('serves quiet tenants first when one has most of what is in flight', async () => {
    const queue = await sqs.createQueue('runs');
    await fill(queue, 'noisy', 60);
    for (let round = 0; round < 3; round += 1) await sqs.receive(queue);
    await fill(queue, 'quiet', 2);
    expect(await sqs.bodies(queue)).toEqual([
      'quiet-0',
      'quiet-1',
      ...Array.from({ length: 8 }, (_, index) => `noisy-${30 + index}`),
    ]);
  });

  it('serves in order while nobody is noisy', async () => {
    const queue = await sqs.createQueue('runs');
    await fill(queue, 'busy', 40);
    for (let round = 0; round < 2; round += 1) await sqs.receive(queue);
    await fill(queue, 'quiet', 1);
    expect((await sqs.bodies(queue))[0]).toBe('busy-20');
  });

  it('takes each message without a group as a tenant of its own', async () => {
    const queue = await sqs.createQueue('runs');
    for (let index = 0; index < 40; index += 1) await sqs.send(queue, `plain-${index}`);
    for (let round = 0; round < 3; round += 1) await sqs.receive(queue);
    await fill(queue, 'quiet', 1);
    expect((await sqs.bodies(queue))[0]).toBe('plain-30');
  });

  it('serves the less noisy of two noisy tenants first', async () => {
    const queue = await sqs.createQueue('runs');
    await fill(queue, 'louder', 40);
    await fill(queue, 'loud', 30);
    for (let round = 0; round < 7; round += 1) await sqs.receive(queue);
    await fill(queue, 'louder', 1);
    await fill(queue, 'loud', 1);
    expect(await sqs.bodies(queue)).toEqual(['loud-0', 'louder-0']);
  });
});

describe('receivers', () => {
  it('share messages, and none gets one that another has', async () => {
    const queue = await sqs.createQueue('runs');
    const waiting = Array.from({ length: 20 }, () =>
      sqs.bodies(queue, { WaitTimeSeconds: 20, MaxNumberOfMessages: 1 }),
    );
    const texts = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    await Promise.all(texts.map((text) => sqs.send(queue, text)));
    expect((await Promise.all(waiting)).flat().sort()).toEqual(texts.toSorted());
  });
});

describe('a waiting receiver', () => {
  it('is woken when its FIFO group is free again', async () => {
    const queue = await sqs.createQueue('runs.fifo', { FifoQueue: 'true' });
    for (const text of ['1', '2']) {
      await sqs.send(queue, text, { MessageGroupId: 'g', MessageDeduplicationId: text });
    }
    const [first] = await sqs.receive(queue, { MaxNumberOfMessages: 1 });
    const waiting = sqs.bodies(queue, { WaitTimeSeconds: 20 });
    await sqs.call('DeleteMessage', { QueueUrl: queue, ReceiptHandle: first?.ReceiptHandle });
    expect(await waiting).toEqual(['2']);
  });

  it('is woken for what becomes visible while it begins to wait', async () => {
    const queue = await sqs.createQueue('runs');
    await sqs.send(queue, 'x', { DelaySeconds: 1 });
    // Each reading of the clock is one millisecond after the one before.
    sqs.ticks = true;
    sqs.now += 999;
    expect(await sqs.bodies(queue, { WaitTimeSeconds: 20 })).toEqual(['x']);
  });

  it('takes nothing after its client went away', async () => {
    const queue = await sqs.createQueue('runs');
    const gone = new AbortController();
    const first = sqs.receive(queue, { WaitTimeSeconds: 20 }, gone.signal);
    const second = sqs.bodies(queue, { WaitTimeSeconds: 20 });
    gone.abort();
    await sqs.send(queue, 'x');
    expect(await first).toEqual([]);
    expect(await second).toEqual(['x']);
  });

  it('gets nothing when its client was gone before it waited', async () => {
    const queue = await sqs.createQueue('runs');
    const signal = AbortSignal.abort();
    expect(await sqs.receive(queue, { WaitTimeSeconds: 20 }, signal)).toEqual([]);
  });

  it('ends empty when the emulator closes', async () => {
    const queue = await sqs.createQueue('runs');
    const waiting = sqs.receive(queue, { WaitTimeSeconds: 20 });
    await sqs.close();
    expect(await waiting).toEqual([]);
  });

  it('is told when its queue is deleted', async () => {
    const queue = await sqs.createQueue('runs');
    const waiting = sqs.receive(queue, { WaitTimeSeconds: 20 });
    const failed = expect(waiting).rejects.toThrow('does not exist');
    await sqs.call('DeleteQueue', { QueueUrl: queue });
    await failed;
  });
});

describe('time', () => {
  it('ends a message after the retention of its queue', async () => {
    const queue = await sqs.createQueue('runs', { MessageRetentionPeriod: '60' });
    await sqs.send(queue, 'old');
    sqs.now += 59_999;
    await sqs.send(queue, 'new');
    sqs.now += 1;
    expect(await sqs.bodies(queue)).toEqual(['new']);
  });

  it('ends a dead letter by when it was first sent', async () => {
    const dead = await sqs.createQueue('dead', { MessageRetentionPeriod: '172800' });
    const queue = await sqs.createQueue('runs', {
      VisibilityTimeout: '0',
      RedrivePolicy: sqs.redriveTo('dead', 1),
    });
    await sqs.send(queue, 'poison');
    sqs.now += DAY_MS;
    await sqs.receive(queue);
    await sqs.receive(queue);
    sqs.now += DAY_MS - 1;
    expect(await sqs.bodies(dead, { VisibilityTimeout: 0 })).toEqual(['poison']);
    sqs.now += 1;
    expect(await sqs.bodies(dead)).toEqual([]);
  });

  it('lets nobody keep a message longer than twelve hours', async () => {
    const queue = await sqs.createQueue('runs');
    await sqs.send(queue, 'x');
    const [message] = await sqs.receive(queue);
    const hide = (VisibilityTimeout: number) =>
      sqs.call('ChangeMessageVisibility', {
        QueueUrl: queue,
        ReceiptHandle: message?.ReceiptHandle,
        VisibilityTimeout,
      });
    await hide(43_200);
    sqs.now += 1000;
    await expect(hide(43_200)).rejects.toThrow('Total VisibilityTimeout');
    await hide(43_199);
  });

  it('forgets a deduplication id after five minutes', async () => {
    const queue = await sqs.createQueue('runs.fifo', { FifoQueue: 'true' });
    const send = () => sqs.send(queue, 'x', { MessageGroupId: 'g', MessageDeduplicationId: 'd' });
    await send();
    sqs.now += 5 * 60_000 - 1;
    await send();
    sqs.now += 1;
    await send();
    expect(await sqs.bodies(queue)).toEqual(['x', 'x']);
  });

  it('holds a FIFO group behind its delayed message only', async () => {
    const queue = await sqs.createQueue('runs.fifo', { FifoQueue: 'true' });
    const send = (text: string) =>
      sqs.send(queue, text, { MessageGroupId: 'g', MessageDeduplicationId: text });
    await send('now');
    await sqs.call('SetQueueAttributes', { QueueUrl: queue, Attributes: { DelaySeconds: '60' } });
    await send('later');
    expect(await sqs.bodies(queue, { VisibilityTimeout: 0 })).toEqual(['now']);
    sqs.now += 60_000;
    expect(await sqs.bodies(queue)).toEqual(['now', 'later']);
  });
});

describe('dead letters', () => {
  it('stay and are delivered on when their queue is gone', async () => {
    const dead = await sqs.createQueue('dead');
    const queue = await sqs.createQueue('runs', {
      VisibilityTimeout: '0',
      RedrivePolicy: sqs.redriveTo('dead', 1),
    });
    await sqs.call('DeleteQueue', { QueueUrl: dead });
    await sqs.send(queue, 'poison');
    await sqs.receive(queue);
    expect(await sqs.bodies(queue)).toEqual(['poison']);
  });

  it('count receives of each queue apart, so a dead-letter queue can have one too', async () => {
    await sqs.createQueue('deader');
    const dead = await sqs.createQueue('dead', {
      VisibilityTimeout: '0',
      RedrivePolicy: sqs.redriveTo('deader', 2),
    });
    const queue = await sqs.createQueue('runs', {
      VisibilityTimeout: '0',
      RedrivePolicy: sqs.redriveTo('dead', 2),
    });
    await sqs.send(queue, 'poison');
    for (let round = 0; round < 3; round += 1) await sqs.receive(queue);
    expect(await sqs.bodies(dead)).toEqual(['poison']);
    expect(await sqs.bodies(dead)).toEqual(['poison']);
    expect(await sqs.bodies(dead)).toEqual([]);
  });
});

describe('a message move task', () => {
  const prepared = async (texts: readonly string[]) => {
    const dead = await sqs.createQueue('dead');
    const queue = await sqs.createQueue('runs', { RedrivePolicy: sqs.redriveTo('dead', 1) });
    for (const text of texts) await sqs.send(dead, text);
    return { dead, queue };
  };
  const tasks = async () => {
    const SourceArn = sqs.arn('dead');
    const { Results } = await sqs.call('ListMessageMoveTasks', { SourceArn });
    return Results as Record<string, unknown>[];
  };

  it('goes on after a restart', async () => {
    const { queue } = await prepared(['a', 'b']);
    await sqs.call('StartMessageMoveTask', {
      SourceArn: sqs.arn('dead'),
      DestinationArn: sqs.arn('runs'),
      MaxNumberOfMessagesPerSecond: 1,
    });
    const { state } = sqs;
    await sqs.close({ keepState: true });
    sqs = new LocalSqs(state);
    const moved: string[] = [];
    while (moved.length < 2) moved.push(...(await sqs.bodies(queue, { WaitTimeSeconds: 20 })));
    expect(moved.sort()).toEqual(['a', 'b']);
  });

  it('fails on a message that was never dead-lettered when it has no destination', async () => {
    const { dead } = await prepared(['direct']);
    await sqs.call('StartMessageMoveTask', { SourceArn: sqs.arn('dead') });
    await expect
      .poll(tasks, PATIENT)
      .toMatchObject([{ Status: 'FAILED', FailureReason: 'CouldNotDetermineMessageSource' }]);
    expect(await sqs.bodies(dead)).toEqual(['direct']);
  });

  it('can be cancelled, and only one runs at a time', async () => {
    await prepared(['a', 'b', 'c']);
    const start = () =>
      sqs.call('StartMessageMoveTask', {
        SourceArn: sqs.arn('dead'),
        DestinationArn: sqs.arn('runs'),
        MaxNumberOfMessagesPerSecond: 1,
      });
    const { TaskHandle } = await start();
    await expect(start()).rejects.toThrow('already a task running');
    await sqs.call('CancelMessageMoveTask', { TaskHandle });
    expect(await tasks()).toMatchObject([{ Status: 'CANCELLED' }]);
    expect((await tasks())[0]).not.toHaveProperty('TaskHandle');
    await expect(sqs.call('CancelMessageMoveTask', { TaskHandle: 'none' })).rejects.toThrow(
      'TaskHandle is invalid',
    );
  });
});

describe('opening a second time', () => {
  it('finds queues and messages in the state database', async () => {
    const state = openStateDatabase();
    const first = new LocalSqs(state);
    const queue = await first.createQueue('runs', { VisibilityTimeout: '7' });
    await first.send(queue, 'x');
    await first.close({ keepState: true });
    const second = new LocalSqs(state);
    expect(await second.bodies(queue)).toEqual(['x']);
    await second.close();
  });
});
