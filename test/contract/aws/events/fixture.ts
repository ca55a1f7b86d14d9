import {
  CreateEventBusCommand,
  EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import type { ContractIt } from '../divergences.ts';
import { sdkOptions, uniqueName } from '../sdk.ts';
import { TestQueue } from '../sqs/fixture.ts';

/** What every part of the suite is given. */
export interface EventsPart {
  readonly it: ContractIt;
  readonly endpoint: () => string;
}

export interface Envelope {
  readonly id: string;
  readonly source: string;
  readonly 'detail-type': string;
  readonly detail: Record<string, unknown>;
}

export const SOURCE = 'nexusdesk.runs';

/** A bus of one test, with a queue to which its rules deliver. */
export class TestBus {
  readonly client: EventBridgeClient;
  readonly name = uniqueName('bus');
  readonly queue: TestQueue;

  private constructor(endpoint: string, queue: TestQueue) {
    this.client = new EventBridgeClient(sdkOptions(endpoint));
    this.queue = queue;
  }

  static async create(endpoint: string): Promise<TestBus> {
    const bus = new TestBus(endpoint, await TestQueue.create(endpoint));
    await bus.client.send(new CreateEventBusCommand({ Name: bus.name }));
    return bus;
  }

  /** A rule of this bus without targets; returns its name. */
  async rule(pattern: object, Name = uniqueName('rule')): Promise<string> {
    await this.client.send(
      new PutRuleCommand({
        Name,
        EventBusName: this.name,
        EventPattern: JSON.stringify(pattern),
      }),
    );
    return Name;
  }

  target(Rule: string, Id: string, Arn: string) {
    return this.client.send(
      new PutTargetsCommand({ Rule, EventBusName: this.name, Targets: [{ Id, Arn }] }),
    );
  }

  /** Delivers what fits the pattern to the queue of this bus. */
  async listen(pattern: object): Promise<string> {
    const rule = await this.rule(pattern);
    await this.target(rule, 'queue', await this.queue.arn());
    return rule;
  }

  put(...entries: Partial<PutEventsRequestEntry>[]) {
    const common = { EventBusName: this.name, Source: SOURCE, DetailType: 'run', Detail: '{}' };
    return this.client.send(
      new PutEventsCommand({ Entries: entries.map((entry) => ({ ...common, ...entry })) }),
    );
  }

  putDetails(...details: object[]) {
    return this.put(...details.map((detail) => ({ Detail: JSON.stringify(detail) })));
  }

  /** The next events that arrive at the queue, in any order; fails when they do not come. */
  async arrived(count: number): Promise<Envelope[]> {
    const events: Envelope[] = [];
    while (events.length < count) {
      const message = await this.queue.next();
      await this.queue.delete(message);
      events.push(JSON.parse(message.Body ?? 'null'));
    }
    return events;
  }
}
