import {
  DescribeRuleCommand,
  DisableRuleCommand,
  PutEventsCommand,
} from '@aws-sdk/client-eventbridge';
import { describe, expect } from 'vitest';
import { failure, uniqueName } from '../sdk.ts';
import { TestQueue } from '../sqs/fixture.ts';
import { type EventsPart, SOURCE, TestBus } from './fixture.ts';

const MIB = 1024 * 1024;
const DETAIL = JSON.stringify({ run: 'r1' });

/** What `PutEvents` takes, and what arrives. */
export function putEvents({ it, endpoint }: EventsPart): void {
  const create = () => TestBus.create(endpoint());

  describe('events', () => {
    it('arrive in an envelope', async () => {
      const bus = await create();
      await bus.listen({ source: [SOURCE] });
      const { Entries, FailedEntryCount } = await bus.put({
        Detail: DETAIL,
        DetailType: 'run.completed',
        Resources: ['arn:aws:x'],
        Time: new Date('2030-01-02T03:04:05Z'),
      });
      expect(FailedEntryCount).toBe(0);
      expect(await bus.arrived(1)).toMatchObject([
        {
          version: '0',
          id: Entries?.[0]?.EventId,
          'detail-type': 'run.completed',
          source: SOURCE,
          time: '2030-01-02T03:04:05Z',
          region: 'us-east-1',
          resources: ['arn:aws:x'],
          detail: { run: 'r1' },
        },
      ]);
    });

    it('name their account', async () => {
      const bus = await create();
      await bus.listen({ source: [SOURCE] });
      await bus.put({});
      expect(await bus.arrived(1)).toMatchObject([{ account: expect.stringMatching(/^\d{12}$/) }]);
    });

    it('arrive ten at a time', async () => {
      const bus = await create();
      await bus.listen({ source: [SOURCE] });
      const numbers = Array.from({ length: 10 }, (_, number) => number);
      await bus.putDetails(...numbers.map((number) => ({ number })));
      const arrived = (await bus.arrived(10)).map((event) => Number(event.detail.number));
      expect(arrived.sort((a, b) => a - b)).toEqual(numbers);
    });

    it('arrive at every target of every rule that they fit', async () => {
      const bus = await create();
      const first = await bus.listen({ source: [SOURCE] });
      await bus.listen({ 'detail-type': ['run'] });
      const other = await TestQueue.create(endpoint());
      await bus.target(first, 'other', await other.arn());
      await bus.put({ Detail: DETAIL });
      expect(await bus.arrived(2)).toHaveLength(2);
      expect(JSON.parse((await other.next()).Body ?? '')).toMatchObject({ source: SOURCE });
    });

    it('stay on their bus', async () => {
      const bus = await create();
      const neighbour = await create();
      await bus.listen({ source: [SOURCE] });
      await neighbour.listen({ source: [SOURCE] });
      await neighbour.put({ DetailType: 'elsewhere' });
      await neighbour.arrived(1);
      await bus.put({ DetailType: 'here' });
      expect((await bus.arrived(1)).map((event) => event['detail-type'])).toEqual(['here']);
      expect(await bus.queue.receive()).toEqual([]);
    });

    it('go to the default bus when they name none', async () => {
      const bus = await create();
      const source = uniqueName('source');
      const { client, queue } = bus;
      const rule = uniqueName('rule');
      const defaultBus = Object.assign(Object.create(bus), { name: 'default' }) as TestBus;
      await defaultBus.rule({ source: [source] }, rule);
      await defaultBus.target(rule, 'queue', await queue.arn());
      const entry = { Source: source, DetailType: 'run', Detail: '{}' };
      await client.send(new PutEventsCommand({ Entries: [entry] }));
      expect(await bus.arrived(1)).toMatchObject([{ source }]);
      expect(await client.send(new DescribeRuleCommand({ Name: rule }))).toMatchObject({
        Arn: expect.stringMatching(new RegExp(`:rule/${rule}$`)),
      });
    });

    it('do not arrive by a rule that is switched off', async () => {
      const bus = await create();
      const off = await bus.listen({ source: [SOURCE] });
      await bus.client.send(new DisableRuleCommand({ Name: off, EventBusName: bus.name }));
      await bus.listen({ 'detail-type': ['on'] });
      await bus.put({ DetailType: 'off' });
      await bus.put({ DetailType: 'on' });
      expect((await bus.arrived(1)).map((event) => event['detail-type'])).toEqual(['on']);
      expect(await bus.queue.receive()).toEqual([]);
    });

    it('are accepted for a bus that does not exist', async () => {
      const bus = await create();
      const { FailedEntryCount } = await bus.put({ EventBusName: uniqueName('none') });
      expect(FailedEntryCount).toBe(0);
    });
  });

  describe('bad entries', () => {
    it('fail alone, inside an answer that is a success', async () => {
      const bus = await create();
      await bus.listen({ source: [SOURCE] });
      const { Entries, FailedEntryCount } = await bus.put(
        { Detail: 'not json' },
        { DetailType: 'good' },
      );
      expect(FailedEntryCount).toBe(1);
      expect(Entries).toEqual([
        { ErrorCode: 'MalformedDetail', ErrorMessage: 'Detail is malformed.' },
        { EventId: expect.any(String) },
      ]);
      expect((await bus.arrived(1)).map((event) => event['detail-type'])).toEqual(['good']);
    });

    it('are those without source, type or detail', async () => {
      const bus = await create();
      for (const name of ['Source', 'DetailType', 'Detail'] as const) {
        const { Entries } = await bus.put({ [name]: '' });
        expect(Entries).toEqual([
          {
            ErrorCode: 'InvalidArgument',
            ErrorMessage: `Parameter ${name} is not valid. Reason: ${name} is a required argument.`,
          },
        ]);
      }
    });

    it('are those whose detail is not an object', async () => {
      const bus = await create();
      const { FailedEntryCount } = await bus.put({ Detail: '[1]' });
      expect(FailedEntryCount).toBe(1);
    });

    it('are those that speak for AWS', async () => {
      const bus = await create();
      const { Entries } = await bus.put({ Source: 'aws.ecs' });
      expect(Entries?.[0]?.ErrorCode).toBe('NotAuthorizedForSourceException');
    });

    it('B67 are those whose type is longer than 128 characters', async () => {
      const bus = await create();
      const { Entries, FailedEntryCount } = await bus.put(
        { DetailType: 'x'.repeat(129) },
        { DetailType: 'x'.repeat(128) },
      );
      expect(FailedEntryCount).toBe(1);
      expect(Entries?.map((entry) => entry.ErrorCode)).toEqual(['InvalidArgument', undefined]);
    });
  });

  describe('bad requests', () => {
    it('have more than ten entries', async () => {
      const bus = await create();
      await failure(bus.put(...Array(11).fill({})), 'ValidationException');
    });

    it('have an entry of more than 1 MiB', async () => {
      const bus = await create();
      const Detail = JSON.stringify({ x: 'x'.repeat(MIB) });
      await failure(bus.put({ Detail }), 'ValidationException');
    });

    it('have more than 1 MiB in all their entries together', async () => {
      const bus = await create();
      const fixed = Buffer.byteLength(`${SOURCE}run{"x":""}`);
      const detail = (bytes: number) => ({ Detail: `{"x":"${'x'.repeat(bytes - fixed)}"}` });
      expect((await bus.put(detail(MIB / 2), detail(MIB / 2))).FailedEntryCount).toBe(0);
      await failure(bus.put(detail(MIB / 2), detail(MIB / 2 + 1)), 'ValidationException');
    });
  });
}
