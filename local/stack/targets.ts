import { GetQueueUrlCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Deliver } from '#local/aws/events/outbox.ts';
import { invokeAsync } from '#local/lambda/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { type Functions, functionOf } from './functions.ts';

export interface TargetOptions {
  readonly functions: Functions;
  /**
   * Resolves when the functions' environment is complete. What an earlier stack left is delivered from the first
   * moment on, and a function that is loaded without its variables fails for the life of this process.
   */
  readonly ready: Promise<void>;
  /** Ends the waiting between attempts. */
  readonly signal: AbortSignal;
}

/** Brings events of the bus to their targets: a function of the catalogue, or a queue. What fails is tried again. */
export function deliverToTargets(options: TargetOptions): Deliver {
  return async ({ arn }, event) => {
    await options.ready;
    const name = arn.split(':').at(-1) ?? '';
    await (arn.startsWith('arn:aws:sqs:')
      ? sendToQueue(name, event)
      : invokeFunction(options, name, event));
  };
}

async function invokeFunction(
  { functions, signal }: TargetOptions,
  targetName: string,
  event: object,
): Promise<void> {
  const entry = FUNCTIONS.find(({ name }) => name.endsWith(`/${targetName}`));
  if (!entry) throw new TypeError(`no function is called ${targetName}`);
  await invokeAsync(
    {
      invoker: functionOf(functions, entry.name),
      signal,
      onDeadLetter: ({ error }) => {
        throw new Error(`${entry.name} did not take the event: ${error.errorMessage}`);
      },
    },
    event,
  );
}

async function sendToQueue(name: string, event: object): Promise<void> {
  const client = new SQSClient({});
  const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: name }));
  await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(event) }));
}
