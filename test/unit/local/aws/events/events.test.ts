import { afterEach, describe, expect, it, vi } from 'vitest';
import { type EventsEmulator, type EventsOptions, openEvents } from '#local/aws/events/events.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';

/** Only a hang reaches this, however busy the machine is. */
const PATIENT = { timeout: 10_000 };

interface Arrival {
  readonly arn: string;
  readonly ruleName: string;
  readonly detail: unknown;
}

const QUEUE = 'arn:aws:sqs:us-east-1:000000000000:usage';
const DEAD = 'arn:aws:sqs:us-east-1:000000000000:dead';

/** An emulator without a socket whose deliveries are collected; `refuse` makes one fail. */
class Local {
  readonly arrivals: Arrival[] = [];
  attempts = 0;
  refuse: (arn: string) => boolean = () => false;
  readonly state;
  readonly events: EventsEmulator;

  constructor(options: Partial<EventsOptions> = {}) {
    this.state = options.state ?? openStateDatabase();
    this.events = openEvents({
      region: 'us-east-1',
      accountId: '000000000000',
      retryDelayMs: () => 1,
      deliver: async ({ arn, ruleName }, event) => {
        this.attempts += 1;
        if (this.refuse(arn)) throw new Error('not now');
        this.arrivals.push({ arn, ruleName, detail: (event as { detail: unknown }).detail });
      },
      ...options,
      state: this.state,
    });
  }

  async call(name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> {
    const operation = this.events.operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const { signal } = new AbortController();
    return ((await operation(input, { signal })) ?? {}) as Record<string, unknown>;
  }

  async listen(pattern: object, target: object = {}, Name = 'rule'): Promise<void> {
    await this.call('PutRule', { Name, EventPattern: JSON.stringify(pattern) });
    const Targets = [{ Id: 'target', Arn: QUEUE, ...target }];
    await this.call('PutTargets', { Rule: Name, Targets });
  }

  put(detail: object) {
    const entry = { Source: 'app', DetailType: 'run', Detail: JSON.stringify(detail) };
    return this.call('PutEvents', { Entries: [entry] });
  }
}

let local: Local;
afterEach(() => local.events.close());

const ALL = { source: [{ exists: true }] };

describe('delivery', () => {
  it('is tried again until the target takes the event', async () => {
    local = new Local();
    local.refuse = () => local.attempts < 4;
    await local.listen(ALL);
    await local.put({ run: 1 });
    await expect
      .poll(() => local.arrivals, PATIENT)
      .toEqual([{ arn: QUEUE, ruleName: 'rule', detail: { run: 1 } }]);
    expect(local.attempts).toBe(4);
    expect(local.events.parked()).toEqual([]);
  });

  it('is tried again when it falls due while the emulator looks', async () => {
    let time = 0;
    // Each reading of the clock is one millisecond after the one before.
    local = new Local({ now: () => time++, retryDelayMs: (n) => n % 6, maxAttempts: 100 });
    local.refuse = () => local.attempts < 20;
    await local.listen(ALL);
    await local.put({});
    await expect.poll(() => local.arrivals, PATIENT).toHaveLength(1);
  });

  it('waits longer after each failure', async () => {
    const waits: number[] = [];
    local = new Local({ maxAttempts: 4, retryDelayMs: (attempts) => waits.push(attempts) });
    vi.spyOn(console, 'error').mockReturnValue();
    local.refuse = () => true;
    await local.listen(ALL);
    await local.put({});
    await expect.poll(() => local.events.parked(), PATIENT).toHaveLength(1);
    expect(waits).toEqual([1, 2, 3, 4]);
  });

  it('TRM-6 parks an event after its last attempt, visibly, and can be told to try again', async () => {
    local = new Local({ maxAttempts: 3 });
    const complaint = vi.spyOn(console, 'error').mockReturnValue();
    local.refuse = () => true;
    await local.listen(ALL);
    await local.put({ run: 1 });
    await expect
      .poll(() => local.events.parked(), PATIENT)
      .toMatchObject([
        {
          busName: 'default',
          ruleName: 'rule',
          targetArn: QUEUE,
          attempts: 3,
          lastError: 'Error: not now',
          event: { detail: { run: 1 } },
        },
      ]);
    expect(complaint).toHaveBeenCalledOnce();
    local.refuse = () => false;
    expect(local.events.redrive()).toBe(1);
    await expect.poll(() => local.arrivals, PATIENT).toHaveLength(1);
    expect(local.events.parked()).toEqual([]);
  });

  it('goes to the dead-letter queue of the target, and after as many retries as the target says', async () => {
    local = new Local();
    local.refuse = (arn) => arn === QUEUE;
    await local.listen(ALL, {
      DeadLetterConfig: { Arn: DEAD },
      RetryPolicy: { MaximumRetryAttempts: 1 },
    });
    await local.put({ run: 1 });
    await expect
      .poll(() => local.arrivals, PATIENT)
      .toEqual([{ arn: DEAD, ruleName: 'rule', detail: { run: 1 } }]);
    expect(local.attempts).toBe(3);
  });

  it('does not let a failing target hold up the others', async () => {
    local = new Local({ retryDelayMs: () => 60_000 });
    local.refuse = (arn) => arn === DEAD;
    await local.listen(ALL, { Arn: DEAD }, 'failing');
    await local.listen(ALL, {}, 'working');
    for (let run = 0; run < 40; run += 1) await local.put({ run });
    await expect.poll(() => local.arrivals, PATIENT).toHaveLength(40);
    expect(new Set(local.arrivals.map(({ ruleName }) => ruleName))).toEqual(new Set(['working']));
  });

  it('has at most sixteen targets busy, and serves all that wait', async () => {
    let busy = 0;
    let most = 0;
    const arrived = new Set<unknown>();
    const gate = Promise.withResolvers<void>();
    local = new Local({
      async deliver(_target, event) {
        busy += 1;
        most = Math.max(most, busy);
        await gate.promise;
        arrived.add((event as { id: string }).id);
        busy -= 1;
      },
    });
    await local.listen(ALL);
    for (let run = 0; run < 50; run += 1) await local.put({ run });
    gate.resolve();
    await expect.poll(() => arrived.size, PATIENT).toBe(50);
    expect(most).toBe(16);
  });

  it('goes on with what an earlier emulator left', async () => {
    const first = new Local({ retryDelayMs: () => 0 });
    first.refuse = () => true;
    await first.listen(ALL);
    await first.put({ run: 1 });
    await first.events.close();
    local = new Local({ state: first.state });
    await expect.poll(() => local.arrivals, PATIENT).toMatchObject([{ detail: { run: 1 } }]);
  });

  it('has ended when the emulator is closed', async () => {
    const gate = Promise.withResolvers<void>();
    let delivered = false;
    local = new Local({
      async deliver() {
        await gate.promise;
        delivered = true;
      },
    });
    await local.listen(ALL);
    await local.put({});
    const closed = local.events.close();
    gate.resolve();
    await closed;
    expect(delivered).toBe(true);
  });
});

describe('an event of an AWS service', () => {
  it('is published in process, and reaches the rules of the default bus', async () => {
    local = new Local();
    await local.listen({ source: ['aws.ecs'], detail: { lastStatus: ['STOPPED'] } });
    const event = { source: 'aws.ecs', detailType: 'ECS Task State Change' };
    local.events.publish({ ...event, detail: { lastStatus: 'RUNNING' } });
    const id = local.events.publish({ ...event, detail: { lastStatus: 'STOPPED' } });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    await expect
      .poll(() => local.arrivals, PATIENT)
      .toMatchObject([{ detail: { lastStatus: 'STOPPED' } }]);
  });
});

describe('what is not emulated', () => {
  it('is refused rather than ignored', async () => {
    local = new Local();
    const schedule = { Name: 'tick', ScheduleExpression: 'rate(1 minute)' };
    await expect(local.call('PutRule', schedule)).rejects.toThrow('ScheduleExpression');
    for (const input of [{ Input: '{}' }, { InputPath: '$.detail' }, { InputTransformer: {} }]) {
      await expect(local.listen(ALL, input)).rejects.toThrow(Object.keys(input)[0]);
    }
  });
});

describe('a rule', () => {
  it('goes with its bus, and a bus with rules stays', async () => {
    local = new Local();
    await local.call('CreateEventBus', { Name: 'own' });
    const rule = { Name: 'r', EventBusName: 'own', EventPattern: JSON.stringify(ALL) };
    await local.call('PutRule', rule);
    const bus = { Name: 'own' };
    await expect(local.call('DeleteEventBus', bus)).rejects.toThrow('it has rules');
    await local.call('DeleteRule', { Name: 'r', EventBusName: 'own' });
    await local.call('DeleteEventBus', bus);
    await expect(local.call('DescribeEventBus', bus)).rejects.toThrow('does not exist');
    await expect(local.call('DeleteEventBus', { Name: 'default' })).rejects.toThrow('default');
  });

  it('is found by the ARN of its bus', async () => {
    local = new Local();
    const { EventBusArn } = await local.call('CreateEventBus', { Name: 'own' });
    await local.call('PutRule', {
      Name: 'r',
      EventBusName: EventBusArn,
      EventPattern: JSON.stringify(ALL),
    });
    const { Rules } = await local.call('ListRules', { EventBusName: 'own' });
    expect(Rules).toMatchObject([{ Name: 'r' }]);
  });

  it('is listed in pages', async () => {
    local = new Local();
    for (const Name of ['a', 'b', 'c']) await local.listen(ALL, {}, Name);
    const first = await local.call('ListRules', { Limit: 2 });
    const second = await local.call('ListRules', { Limit: 2, NextToken: first.NextToken });
    expect(first.Rules).toMatchObject([{ Name: 'a' }, { Name: 'b' }]);
    expect(second).toMatchObject({ Rules: [{ Name: 'c' }] });
    expect(second).not.toHaveProperty('NextToken');
  });

  it('tells which of its targets it did not have', async () => {
    local = new Local();
    await local.listen(ALL);
    const input = { Rule: 'rule', Ids: ['target', 'other'] };
    expect(await local.call('RemoveTargets', input)).toMatchObject({
      FailedEntryCount: 1,
      FailedEntries: [{ TargetId: 'other', ErrorCode: 'ResourceNotFoundException' }],
    });
  });
});
