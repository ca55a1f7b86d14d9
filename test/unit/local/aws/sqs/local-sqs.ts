import { openStateDatabase, type StateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs, type Sqs } from '#local/aws/sqs/sqs.ts';

const REGION = 'us-east-1';
const ACCOUNT = '000000000000';

interface Received {
  readonly Body: string;
  readonly ReceiptHandle: string;
}

/** The emulator without a socket and with a clock that stands still until it is moved. */
export class LocalSqs {
  now = Date.parse('2030-01-01T00:00:00Z');
  /** Whether the clock moves on by a millisecond whenever it is read. */
  ticks = false;
  readonly state: StateDatabase;
  /** What it offers to the process it runs in. */
  readonly service: Sqs;
  #closed = false;

  constructor(state = openStateDatabase()) {
    this.state = state;
    this.service = openSqs({
      state,
      now: () => (this.ticks ? this.now++ : this.now),
      region: REGION,
      accountId: ACCOUNT,
      endpointUrl: () => 'http://local',
    });
  }

  async call(
    name: string,
    input: Record<string, unknown>,
    signal = new AbortController().signal,
  ): Promise<Record<string, unknown>> {
    const operation = this.service.operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    return ((await operation(input, { signal })) ?? {}) as Record<string, unknown>;
  }

  async createQueue(QueueName: string, Attributes: Record<string, string> = {}): Promise<string> {
    const { QueueUrl } = await this.call('CreateQueue', { QueueName, Attributes });
    return String(QueueUrl);
  }

  arn(name: string): string {
    return `arn:aws:sqs:${REGION}:${ACCOUNT}:${name}`;
  }

  redriveTo(name: string, maxReceiveCount: number): string {
    return JSON.stringify({ deadLetterTargetArn: this.arn(name), maxReceiveCount });
  }

  send(QueueUrl: string, MessageBody: string, extra: Record<string, unknown> = {}) {
    return this.call('SendMessage', { QueueUrl, MessageBody, ...extra });
  }

  async receive(
    QueueUrl: string,
    extra: Record<string, unknown> = {},
    signal?: AbortSignal,
  ): Promise<readonly Received[]> {
    const input = { QueueUrl, MaxNumberOfMessages: 10, ...extra };
    const { Messages = [] } = await this.call('ReceiveMessage', input, signal);
    return Messages as Received[];
  }

  async bodies(QueueUrl: string, extra: Record<string, unknown> = {}): Promise<string[]> {
    return (await this.receive(QueueUrl, extra)).map((message) => message.Body);
  }

  async close({ keepState = false } = {}): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.service.close();
    if (!keepState) this.state.close();
  }
}
