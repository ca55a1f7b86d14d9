import {
  CreateEventBusCommand,
  DeleteEventBusCommand,
  DeleteRuleCommand,
  DescribeEventBusCommand,
  DescribeRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  ListEventBusesCommand,
  ListRulesCommand,
  ListTargetsByRuleCommand,
  PutRuleCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { describe, expect } from 'vitest';
import { failure, uniqueName } from '../sdk.ts';
import { type EventsPart, SOURCE, TestBus } from './fixture.ts';

const PATTERN = { source: [SOURCE] };

/** Buses, rules and targets as records. */
export function rules({ it, endpoint }: EventsPart): void {
  const create = () => TestBus.create(endpoint());

  describe('buses', () => {
    it('are described, listed and deleted', async () => {
      const { client, name } = await create();
      const described = await client.send(new DescribeEventBusCommand({ Name: name }));
      expect(described).toMatchObject({
        Name: name,
        Arn: expect.stringMatching(
          new RegExp(`^arn:aws:events:us-east-1:\\d{12}:event-bus/${name}$`),
        ),
      });
      const list = async () => {
        const listed = await client.send(new ListEventBusesCommand({ NamePrefix: name }));
        return listed.EventBuses?.map((bus) => bus.Name);
      };
      expect(await list()).toEqual([name]);
      await client.send(new DeleteEventBusCommand({ Name: name }));
      expect(await list()).toEqual([]);
    });

    it('have names of their own', async () => {
      const { client, name } = await create();
      const call = client.send(new CreateEventBusCommand({ Name: name }));
      await failure(call, 'ResourceAlreadyExistsException');
    });

    it('have to exist', async () => {
      const { client } = await create();
      const missing = uniqueName('none');
      const describeCall = client.send(new DescribeEventBusCommand({ Name: missing }));
      await failure(describeCall, 'ResourceNotFoundException');
      const ruleCall = client.send(
        new PutRuleCommand({ Name: 'r', EventBusName: missing, EventPattern: '{"source":["a"]}' }),
      );
      await failure(ruleCall, 'ResourceNotFoundException');
    });

    it('always include the default one', async () => {
      const { client } = await create();
      const { EventBuses } = await client.send(new ListEventBusesCommand({}));
      expect(EventBuses?.map((bus) => bus.Name)).toContain('default');
    });
  });

  describe('rules', () => {
    it('are described and listed', async () => {
      const bus = await create();
      const Name = await bus.rule(PATTERN);
      const EventBusName = bus.name;
      const described = await bus.client.send(new DescribeRuleCommand({ Name, EventBusName }));
      expect(described).toMatchObject({
        Name,
        EventBusName,
        State: 'ENABLED',
        EventPattern: JSON.stringify(PATTERN),
        Arn: expect.stringMatching(new RegExp(`:rule/${EventBusName}/${Name}$`)),
      });
      const { Rules } = await bus.client.send(new ListRulesCommand({ EventBusName }));
      expect(Rules?.map((rule) => rule.Name)).toEqual([Name]);
    });

    it('are replaced by a rule of the same name, and keep their targets', async () => {
      const bus = await create();
      const Name = await bus.listen(PATTERN);
      await bus.rule({ source: ['other'] }, Name);
      const EventBusName = bus.name;
      const described = await bus.client.send(new DescribeRuleCommand({ Name, EventBusName }));
      expect(described.EventPattern).toBe('{"source":["other"]}');
      const { Targets } = await bus.client.send(
        new ListTargetsByRuleCommand({ Rule: Name, EventBusName }),
      );
      expect(Targets).toHaveLength(1);
    });

    for (const [title, EventPattern] of [
      ['JSON', 'not json'],
      ['an object', '[]'],
      ['made of lists', '{"source": "no list"}'],
      ['made of lists with something in them', '{"source": []}'],
    ] as const) {
      it(`need a pattern that is ${title}`, async () => {
        const { client, name } = await create();
        const call = client.send(
          new PutRuleCommand({ Name: uniqueName('r'), EventBusName: name, EventPattern }),
        );
        await failure(call, 'InvalidEventPatternException');
      });
    }

    it('need operators that exist', async () => {
      const bus = await create();
      await failure(bus.rule({ source: [{ PREFIX: 'a' }] }), 'InvalidEventPatternException');
    });

    it('need operators that are complete', async () => {
      const bus = await create();
      const numeric = bus.rule({ detail: { n: [{ numeric: ['>', 0, '<'] }] } });
      await failure(numeric, 'InvalidEventPatternException');
    });

    it('need something to react to', async () => {
      const bus = await create();
      const call = bus.client.send(new PutRuleCommand({ Name: 'r', EventBusName: bus.name }));
      await failure(call, 'ValidationException');
    });

    it('are deleted without their targets only', async () => {
      const bus = await create();
      const Name = await bus.listen(PATTERN);
      const EventBusName = bus.name;
      const remove = () => bus.client.send(new DeleteRuleCommand({ Name, EventBusName }));
      await failure(remove(), 'ValidationException');
      await bus.client.send(new RemoveTargetsCommand({ Rule: Name, EventBusName, Ids: ['queue'] }));
      await remove();
      const call = bus.client.send(new DescribeRuleCommand({ Name, EventBusName }));
      await failure(call, 'ResourceNotFoundException');
    });

    it('are switched off and on', async () => {
      const bus = await create();
      const Name = await bus.rule(PATTERN);
      const EventBusName = bus.name;
      const state = async () =>
        (await bus.client.send(new DescribeRuleCommand({ Name, EventBusName }))).State;
      await bus.client.send(new DisableRuleCommand({ Name, EventBusName }));
      expect(await state()).toBe('DISABLED');
      await bus.client.send(new EnableRuleCommand({ Name, EventBusName }));
      expect(await state()).toBe('ENABLED');
    });
  });

  describe('targets', () => {
    it('are listed and removed', async () => {
      const bus = await create();
      const Rule = await bus.rule(PATTERN);
      const arn = await bus.queue.arn();
      await bus.target(Rule, 'a', arn);
      await bus.target(Rule, 'b', arn);
      const EventBusName = bus.name;
      const list = async () =>
        (await bus.client.send(new ListTargetsByRuleCommand({ Rule, EventBusName }))).Targets;
      expect(await list()).toEqual([
        { Id: 'a', Arn: arn },
        { Id: 'b', Arn: arn },
      ]);
      const removed = await bus.client.send(
        new RemoveTargetsCommand({ Rule, EventBusName, Ids: ['a'] }),
      );
      expect(removed.FailedEntryCount).toBe(0);
      expect(await list()).toEqual([{ Id: 'b', Arn: arn }]);
    });

    it('are five at most', async () => {
      const bus = await create();
      const Rule = await bus.rule(PATTERN);
      const arn = await bus.queue.arn();
      for (const Id of ['1', '2', '3', '4', '5']) await bus.target(Rule, Id, arn);
      await failure(bus.target(Rule, '6', arn), 'LimitExceededException');
    });

    it('belong to a rule that exists', async () => {
      const bus = await create();
      const call = bus.target(uniqueName('none'), 'a', await bus.queue.arn());
      await failure(call, 'ResourceNotFoundException');
    });

    it('are named by ARNs', async () => {
      const bus = await create();
      const Rule = await bus.rule(PATTERN);
      await failure(bus.target(Rule, 'a', 'not an arn'), 'ValidationException');
    });
  });
}
