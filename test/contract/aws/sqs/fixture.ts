import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  type QueueAttributeName,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { ContractIt } from '../divergences.ts';
import { sdkOptions, uniqueName } from '../sdk.ts';

/** What every part of the suite is given. */
export interface SqsPart {
  readonly it: ContractIt;
  readonly endpoint: () => string;
}

type Attributes = Partial<Record<QueueAttributeName, string>>;
type Extra<T> = Partial<Omit<T, 'QueueUrl'>>;

/** Longer than anything waits here, so that a poll which comes back empty has really missed something. */
export const PATIENCE_SECONDS = 10;

/** A queue of one test, and what tests do with it. */
export class TestQueue {
  readonly client: SQSClient;
  readonly url: string;

  private constructor(client: SQSClient, url: string) {
    this.client = client;
    this.url = url;
  }

  static async create(endpoint: string, attributes: Attributes = {}): Promise<TestQueue> {
    const client = new SQSClient(sdkOptions(endpoint));
    const fifo = attributes.FifoQueue === 'true';
    const { QueueUrl = '' } = await client.send(
      new CreateQueueCommand({
        QueueName: uniqueName('queue') + (fifo ? '.fifo' : ''),
        Attributes: attributes,
      }),
    );
    return new TestQueue(client, QueueUrl);
  }

  /** The same queue at another endpoint. */
  on(endpoint: string): TestQueue {
    const { pathname } = new URL(this.url);
    return new TestQueue(new SQSClient(sdkOptions(endpoint)), endpoint + pathname);
  }

  get name(): string {
    return this.url.slice(this.url.lastIndexOf('/') + 1);
  }

  send(MessageBody: string, extra: Extra<SendMessageCommandInput> = {}) {
    return this.client.send(new SendMessageCommand({ QueueUrl: this.url, MessageBody, ...extra }));
  }

  /** Sends to a FIFO group; the body is the deduplication id too. */
  sendTo(MessageGroupId: string, body: string) {
    return this.send(body, { MessageGroupId, MessageDeduplicationId: body });
  }

  /** Up to ten messages that are there now. */
  async receive(extra: Extra<ReceiveMessageCommandInput> = {}): Promise<Message[]> {
    const { Messages = [] } = await this.client.send(
      new ReceiveMessageCommand({ QueueUrl: this.url, MaxNumberOfMessages: 10, ...extra }),
    );
    return Messages;
  }

  /** The next message, waiting for it. */
  async next(extra: Extra<ReceiveMessageCommandInput> = {}): Promise<Message> {
    const [message] = await this.receive({
      MaxNumberOfMessages: 1,
      WaitTimeSeconds: PATIENCE_SECONDS,
      ...extra,
    });
    if (!message) throw new Error('no message came');
    return message;
  }

  async bodies(extra: Extra<ReceiveMessageCommandInput> = {}): Promise<(string | undefined)[]> {
    return (await this.receive(extra)).map((message) => message.Body);
  }

  delete({ ReceiptHandle }: Message) {
    return this.client.send(new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle }));
  }

  hide({ ReceiptHandle }: Pick<Message, 'ReceiptHandle'>, VisibilityTimeout: number) {
    return this.client.send(
      new ChangeMessageVisibilityCommand({
        QueueUrl: this.url,
        ReceiptHandle,
        VisibilityTimeout,
      }),
    );
  }

  async attributes(...names: QueueAttributeName[]): Promise<Attributes> {
    const { Attributes = {} } = await this.client.send(
      new GetQueueAttributesCommand({ QueueUrl: this.url, AttributeNames: names }),
    );
    return Attributes;
  }

  async arn(): Promise<string> {
    return (await this.attributes('QueueArn')).QueueArn ?? '';
  }

  set(attributes: Attributes) {
    return this.client.send(
      new SetQueueAttributesCommand({ QueueUrl: this.url, Attributes: attributes }),
    );
  }
}
