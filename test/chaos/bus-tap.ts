import { setTimeout as delay } from 'node:timers/promises';
import {
  EventBridgeClient,
  ListEventBusesCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { z } from 'zod';
import { BUS_EVENT_SOURCE } from '#shared/topology/index.ts';

const messageSchema = z.object({
  source: z.literal(BUS_EVENT_SOURCE),
  'detail-type': z.string(),
  detail: z.looseObject({ eventId: z.string(), executionId: z.string(), sequence: z.number() }),
});

/** One event as the bus had it. */
export interface Publication {
  readonly eventId: string;
  readonly runId: string;
  readonly sequence: number;
  readonly eventType: string;
  /** Its content, to be compared with the log's. */
  readonly detail: Readonly<Record<string, unknown>>;
  copies: number;
}

const QUEUE = 'chaos-tap';

/** A consumer of the platform's events as another system would be one: a rule, a queue, and somebody who reads it. */
export class BusTap {
  readonly publications = new Map<string, Publication>();
  /** The same id with another content. */
  readonly changed: string[] = [];
  readonly #sqs: SQSClient;
  readonly #queueUrl: string;

  private constructor(sqs: SQSClient, queueUrl: string) {
    this.#sqs = sqs;
    this.#queueUrl = queueUrl;
  }

  /** Before the first run is posted. */
  static async open(aws: { endpoint: string }): Promise<BusTap> {
    const settings = awsClientSettings(aws.endpoint);
    const events = new EventBridgeClient(settings);
    const sqs = new SQSClient(settings);
    const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: QUEUE }));
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
    );
    const { EventBuses = [] } = await events.send(new ListEventBusesCommand({}));
    const bus = EventBuses.find(({ Name }) => Name !== 'default')?.Name;
    if (!bus) throw new Error('the stack has no event bus');
    const rule = { Name: 'chaos-tap', EventBusName: bus };
    const EventPattern = JSON.stringify({ source: [BUS_EVENT_SOURCE] });
    await events.send(new PutRuleCommand({ ...rule, EventPattern }));
    await events.send(
      new PutTargetsCommand({
        Rule: rule.Name,
        EventBusName: bus,
        Targets: [{ Id: 'queue', Arn: Attributes?.QueueArn ?? '' }],
      }),
    );
    return new BusTap(sqs, QueueUrl);
  }

  /** Reads until it is stopped; an outage only interrupts it. */
  async read(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      try {
        await this.#readSome();
      } catch {
        await delay(250, undefined, { signal: stopped }).catch(() => undefined);
      }
    }
  }

  async #readSome(): Promise<void> {
    const { Messages = [] } = await this.#sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: this.#queueUrl,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 1,
      }),
    );
    if (Messages.length === 0) return;
    for (const { Body } of Messages) this.#take(JSON.parse(Body ?? ''));
    await this.#sqs.send(
      new DeleteMessageBatchCommand({
        QueueUrl: this.#queueUrl,
        Entries: Messages.map(({ ReceiptHandle }, index) => ({
          Id: String(index),
          ReceiptHandle: ReceiptHandle ?? '',
        })),
      }),
    );
  }

  #take(body: unknown): void {
    const { detail, 'detail-type': eventType } = messageSchema.parse(body);
    const { eventId } = detail;
    const known = this.publications.get(eventId);
    if (!known) {
      const { executionId: runId, sequence } = detail;
      this.publications.set(eventId, { eventId, runId, sequence, eventType, detail, copies: 1 });
      return;
    }
    known.copies += 1;
    if (JSON.stringify(known.detail) !== JSON.stringify(detail)) this.changed.push(eventId);
  }
}

export function awsClientSettings(endpoint: string) {
  return {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
}
