import type { SendMessageCommandInput } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { Kernel } from '../kernel/kernel.ts';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Faults } from './faults.ts';
import type { Lambdas } from './lambda.ts';
import type { Services } from './service.ts';

interface Message {
  readonly id: string;
  readonly body: string;
  receives: number;
  visibleAt: number;
  deleted: boolean;
}

export interface QueueOptions {
  readonly name: string;
  readonly visibilityMs: number;
  readonly batchSize: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly handler: (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;
  /** Where messages go after so many receives. */
  readonly deadLetters?: { readonly queue: SimulatedQueue; readonly maxReceives: number };
}

interface Parts {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly lambdas: Lambdas;
  readonly services: Services;
}

/** A standard queue and what polls it for a function: at least once, in no order, with partial answers. */
export class SimulatedQueue implements CommandSender {
  readonly #parts: Parts;
  readonly #options: QueueOptions;
  readonly #messages = new Set<Message>();
  #sent = 0;
  #running = 0;

  constructor(parts: Parts, options: QueueOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  get depth(): number {
    return this.#messages.size;
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    if (operationOf(command) !== 'SendMessage') throw new TypeError(operationOf(command));
    const input = command.input as SendMessageCommandInput;
    return this.#parts.services.call({
      service: 'queue',
      what: `SendMessage ${this.#options.name} +${input.DelaySeconds ?? 0}s`,
      refusal: () => awsFault('ThrottlingException', 'Rate exceeded'),
      effect: () => {
        const id = `${this.#options.name}-${this.#sent}`;
        if (!this.#parts.faults.hits('message.lost')) {
          this.push(input.MessageBody ?? '', (input.DelaySeconds ?? 0) * 1000);
        }
        return { MessageId: id };
      },
    });
  }

  /** Puts a message into the queue: from a sender, from a service, or from another queue. */
  push(body: string, delayMs = 0): void {
    const { faults } = this.#parts;
    const late = faults.hits('message.late') ? faults.random.between(1_000, 150_000) : 0;
    this.#put(body, delayMs + late);
    if (faults.hits('message.twice')) this.#put(body, delayMs + faults.random.between(0, 40_000));
  }

  #put(body: string, delayMs: number): void {
    this.#sent += 1;
    const { kernel } = this.#parts;
    const visibleAt = kernel.now + delayMs;
    const id = `${this.#options.name}-${this.#sent}`;
    const message = { id, body, receives: 0, visibleAt, deleted: false };
    this.#messages.add(message);
    this.#pollAt(visibleAt);
  }

  #pollAt(at: number): void {
    const { kernel, faults } = this.#parts;
    kernel.after(at - kernel.now + 30 * faults.random.unit(), () => this.#poll());
  }

  #poll(): void {
    const { kernel, faults } = this.#parts;
    const { visibilityMs, batchSize, concurrency, deadLetters } = this.#options;
    if (this.#running >= concurrency) return;
    const visible = [...this.#messages].filter(({ visibleAt }) => visibleAt <= kernel.now);
    const batch: Message[] = [];
    while (visible.length > 0 && batch.length < batchSize) {
      const [message] = visible.splice(faults.random.between(0, visible.length - 1), 1);
      if (!message) break;
      if (deadLetters && message.receives >= deadLetters.maxReceives) {
        this.#messages.delete(message);
        kernel.note(`queue ${message.id} → dead letters`);
        deadLetters.queue.push(message.body);
        continue;
      }
      message.receives += 1;
      message.visibleAt = kernel.now + visibilityMs;
      this.#pollAt(message.visibleAt);
      batch.push(message);
      if (faults.random.chance(0.5)) break;
    }
    if (batch.length > 0) this.#invoke(batch);
    if (visible.length > 0) this.#pollAt(kernel.now);
  }

  #invoke(batch: readonly Message[]): void {
    const { kernel, lambdas } = this.#parts;
    const { name, timeoutMs, handler } = this.#options;
    this.#running += 1;
    const event = { Records: batch.map(toRecord) };
    const actor = lambdas.invoke(
      name,
      timeoutMs,
      (context) => handler(event, context),
      (invocation) => {
        this.#running -= 1;
        const failed =
          invocation.outcome === 'returned'
            ? new Set(
                invocation.value.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier),
              )
            : new Set(batch.map(({ id }) => id));
        kernel.note(
          `${actor.name} ${invocation.outcome}${failed.size ? `, back: ${[...failed].join(' ')}` : ''}`,
        );
        for (const message of batch) {
          if (!failed.has(message.id)) this.#messages.delete(message);
        }
        this.#pollAt(kernel.now);
      },
    );
    kernel.note(
      `${actor.name} ← ${batch.map(({ id, receives }) => `${id}(${receives})`).join(' ')}`,
    );
  }
}

function toRecord(message: Message): SQSRecord {
  return {
    messageId: message.id,
    receiptHandle: `${message.id}/${message.receives}`,
    body: message.body,
    attributes: {
      ApproximateReceiveCount: String(message.receives),
      SentTimestamp: '0',
      SenderId: 'simulated',
      ApproximateFirstReceiveTimestamp: '0',
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:eu-west-1:000000000000:queue',
    awsRegion: 'eu-west-1',
  };
}
