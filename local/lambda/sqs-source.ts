import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { backoffMs } from '#shared/kit/backoff.ts';
import { failedItems } from './batch-answer.ts';
import { type EventSource, Pause } from './event-source.ts';
import type { LambdaInvoker } from './invoker.ts';
import { toSqsEvent } from './sqs-event.ts';

export interface SqsSourceOptions {
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly queueUrl: string;
  readonly region: string;
  readonly invoker: LambdaInvoker;
  /** 10 by default. Above that the window is what fills a batch. */
  readonly batchSize?: number;
  /** How long to wait for a batch to fill, from its first message on; 0 by default. */
  readonly maxBatchingWindowMs?: number;
  /** Invocations at once; 10 by default. */
  readonly maxConcurrency?: number;
  /** Off as in Lambda: then any answer that is no error is a success of the whole batch. */
  readonly reportBatchItemFailures?: boolean;
}

const MAX_RECEIVED = 10;
const LONG_POLL_SECONDS = 20;
const RETRY = { baseMs: 100, maxMs: 5_000 };
const DELETE_ATTEMPTS = 5;

/**
 * Invokes a function with the messages of a queue, and deletes those it has handled. What failed is left alone:
 * it comes back when its visibility timeout is over. Messages whose deletion fails come back, too.
 */
export function startSqsSource(options: SqsSourceOptions): EventSource {
  const { sqs, queueUrl, invoker, maxConcurrency = 10 } = options;
  const stopping = new AbortController();
  const pause = new Pause();
  const running = new Set<Promise<void>>();
  let queueArn: string | undefined;

  const poll = async () => {
    let failures = 0;
    while (!stopping.signal.aborted) {
      if (running.size >= maxConcurrency) {
        await Promise.race(running);
        continue;
      }
      try {
        queueArn ??= await findArn(sqs, queueUrl);
        const messages = await receiveBatch(options, stopping.signal);
        if (messages.length > 0) start(messages, queueArn);
        failures = 0;
      } catch (error) {
        if (stopping.signal.aborted) break;
        console.error(`lambda ${invoker.name}: cannot receive from ${queueUrl}:`, error);
        await pause.wait(backoffMs(failures, RETRY));
        failures += 1;
      }
    }
  };

  const start = (messages: Message[], arn: string) => {
    const work = handle(options, messages, arn)
      .catch((error: unknown) => console.error(`lambda ${invoker.name}: batch:`, error))
      .finally(() => running.delete(work));
    running.add(work);
  };

  const polling = poll();
  return {
    async stop() {
      stopping.abort();
      pause.wake();
      await polling;
      await Promise.all(running);
    },
  };
}

async function findArn(sqs: Pick<SQSClient, 'send'>, queueUrl: string): Promise<string> {
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] }),
  );
  const arn = Attributes?.QueueArn;
  if (!arn) throw new Error(`${queueUrl} has no ARN`);
  return arn;
}

async function receiveBatch(options: SqsSourceOptions, signal: AbortSignal): Promise<Message[]> {
  const { batchSize = 10, maxBatchingWindowMs = 0 } = options;
  const messages = await receive(options, batchSize, LONG_POLL_SECONDS, signal);
  const endsAt = Date.now() + maxBatchingWindowMs;
  while (messages.length > 0 && messages.length < batchSize && !signal.aborted) {
    const leftMs = endsAt - Date.now();
    if (leftMs <= 0) break;
    const waitSeconds = Math.min(LONG_POLL_SECONDS, Math.floor(leftMs / 1000));
    const room = batchSize - messages.length;
    try {
      const more = await receive(options, room, waitSeconds, signal);
      messages.push(...more);
      // Less than a second is left, which long polling cannot wait.
      if (more.length === 0 && waitSeconds === 0) break;
    } catch (error) {
      // What was received must be handled, whatever happens to the rest.
      if (!signal.aborted) console.error(`lambda ${options.invoker.name}: receiving more:`, error);
      break;
    }
  }
  return messages;
}

async function receive(
  { sqs, queueUrl }: SqsSourceOptions,
  room: number,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: Math.min(MAX_RECEIVED, room),
    WaitTimeSeconds: waitSeconds,
    MessageSystemAttributeNames: ['All'],
    MessageAttributeNames: ['All'],
  });
  return (await sqs.send(command, { abortSignal: signal })).Messages ?? [];
}

async function handle(
  options: SqsSourceOptions,
  messages: readonly Message[],
  arn: string,
): Promise<void> {
  const event = toSqsEvent(messages, { arn, region: options.region });
  const outcome = await options.invoker.invoke(event);
  if (outcome.status === 'error') return;
  const failed: ReadonlySet<string> = options.reportBatchItemFailures
    ? failedItems(
        outcome.payload,
        event.Records.map((record) => record.messageId),
      )
    : new Set<string>();
  const handled = messages.filter((message) => !failed.has(message.MessageId ?? ''));
  for (let from = 0; from < handled.length; from += MAX_RECEIVED) {
    await deleteMessages(options, handled.slice(from, from + MAX_RECEIVED));
  }
}

async function deleteMessages(
  { sqs, queueUrl, invoker }: SqsSourceOptions,
  messages: readonly Message[],
): Promise<void> {
  const pause = new Pause();
  let left = messages.map((message, index) => ({
    Id: String(index),
    ReceiptHandle: message.ReceiptHandle,
  }));
  let problem: unknown;
  for (let attempt = 0; attempt < DELETE_ATTEMPTS; attempt += 1) {
    try {
      const { Failed = [] } = await sqs.send(
        new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries: left }),
      );
      // A handle that the queue does not accept will not be accepted later either.
      const again = new Set(Failed.filter((entry) => !entry.SenderFault).map((entry) => entry.Id));
      const refused = Failed.filter((entry) => entry.SenderFault);
      if (refused.length > 0) console.error(`lambda ${invoker.name}: not deleted:`, refused);
      left = left.filter((entry) => again.has(entry.Id));
      if (left.length === 0) return;
      problem = Failed;
    } catch (error) {
      problem = error;
    }
    await pause.wait(backoffMs(attempt, RETRY));
  }
  console.error(`lambda ${invoker.name}: ${left.length} messages will come again:`, problem);
}
