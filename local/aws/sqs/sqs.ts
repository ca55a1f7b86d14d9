import type { AwsCallContext, AwsJsonService, AwsOperation } from '../kit/aws-endpoint.ts';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import { checkBatch, eachEntry } from './batch.ts';
import { LongPolls } from './long-poll.ts';
import { Messages } from './messages.ts';
import { MoveTasks } from './move-tasks.ts';
import { queueOperations } from './queue-operations.ts';
import { type QueueAddress, Queues } from './queues.ts';
import { changeVisibility, deleteReceived } from './receipt-handle.ts';
import { type ReceiveRequest, Receiving, viewMessage } from './receiving.ts';
import { checkSend, checkSendBatch, type SendRequest, storeMessage } from './sending.ts';
import { sqsError, wholeNumber } from './sqs-error.ts';

export interface SqsOptions extends QueueAddress {
  /** Holds queues and messages, so that a killed process goes on where it was. */
  readonly state: StateDatabase;
  /** Milliseconds since 1970; the system clock when omitted. */
  readonly now?: () => number;
}

export interface Sqs extends AwsJsonService {
  /**
   * Takes back what was received from a queue and not deleted: for a queue whose only receivers died with this
   * process. SQS itself would hide it until its visibility timeout ends, and count the receives.
   */
  takeBack(queueName: string): void;
  /** Sends what another service of AWS delivers. */
  deliver(queueName: string, body: string): void;
}

type ByHandle = { readonly Id: string; readonly ReceiptHandle?: unknown };

/**
 * An embedded Amazon SQS: standard queues (with fair delivery by message group) and FIFO queues. Delivery is
 * at least once; a message whose receiver died shows itself again when its visibility timeout ends, also
 * across a kill of this process.
 */
export function openSqs(options: SqsOptions): Sqs {
  const { state, now = Date.now } = options;
  const queues = new Queues(state, options);
  const messages = new Messages(state);
  const polls = new LongPolls({
    nextVisibleAfter: (queue, time) => messages.nextVisibleAfter(queue, time),
    now,
  });
  const wake = (queue: { readonly name: string }) => polls.wake(queue.name);
  const receiving = new Receiving(state, messages, queues, wake);
  const tasks = new MoveTasks(state, messages, queues, now, wake);

  const operations: Record<string, AwsOperation> = {
    ...queueOperations({ state, queues, messages, now, wake }),

    SendMessage(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      const message = checkSend(queue, input);
      const answer = atomically(state, () => storeMessage(messages, queue, message, now()));
      wake(queue);
      return answer;
    },

    SendMessageBatch(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      const entries = checkBatch<SendRequest & { Id: string }>(input.Entries);
      checkSendBatch(queue, entries);
      const answer = atomically(state, () =>
        eachEntry(entries, (entry) =>
          storeMessage(messages, queue, checkSend(queue, entry), now()),
        ),
      );
      wake(queue);
      return answer;
    },

    ReceiveMessage: (input, context) => receive(input, context),

    DeleteMessage(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      deleteReceived(messages, queue, input.ReceiptHandle, now());
      if (queue.fifo) wake(queue);
    },

    DeleteMessageBatch(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      const entries = checkBatch<ByHandle>(input.Entries);
      const answer = atomically(state, () =>
        eachEntry(entries, (entry) => {
          deleteReceived(messages, queue, entry.ReceiptHandle, now());
          return undefined;
        }),
      );
      if (queue.fifo) wake(queue);
      return answer;
    },

    ChangeMessageVisibility(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      changeVisibility(messages, queue, input.ReceiptHandle, input.VisibilityTimeout, now());
      wake(queue);
    },

    ChangeMessageVisibilityBatch(input) {
      const queue = queues.ofUrl(input.QueueUrl);
      const entries = checkBatch<ByHandle & { VisibilityTimeout?: unknown }>(input.Entries);
      const answer = atomically(state, () =>
        eachEntry(entries, ({ ReceiptHandle, VisibilityTimeout = 0 }) => {
          changeVisibility(messages, queue, ReceiptHandle, VisibilityTimeout, now());
          return undefined;
        }),
      );
      wake(queue);
      return answer;
    },

    StartMessageMoveTask: (input) =>
      tasks.start(input.SourceArn, input.DestinationArn, input.MaxNumberOfMessagesPerSecond),
    ListMessageMoveTasks: (input) =>
      tasks.list(input.SourceArn, wholeNumber('MaxResults', input.MaxResults ?? 1, 1, 10)),
    CancelMessageMoveTask: (input) => tasks.cancel(input.TaskHandle),
  };

  async function receive(
    input: Parameters<AwsOperation>[0],
    { signal }: AwsCallContext,
  ): Promise<object> {
    const queue = queues.ofUrl(input.QueueUrl);
    const { effective } = queue;
    const request: ReceiveRequest = {
      max: wholeNumber('MaxNumberOfMessages', input.MaxNumberOfMessages ?? 1, 1, 10),
      visibilityMs:
        1000 *
        wholeNumber(
          'VisibilityTimeout',
          input.VisibilityTimeout ?? Number(effective.VisibilityTimeout),
          0,
          43_200,
        ),
      systemAttributeNames: [
        ...(input.MessageSystemAttributeNames ?? []),
        ...(input.AttributeNames ?? []),
      ],
      messageAttributeNames: input.MessageAttributeNames ?? [],
    };
    const waitSeconds = wholeNumber(
      'WaitTimeSeconds',
      input.WaitTimeSeconds ?? Number(effective.ReceiveMessageWaitTimeSeconds),
      0,
      20,
    );
    const attempt = () => {
      // A waiting receiver may outlive its queue.
      const current = queues.find(queue.name);
      if (!current) throw sqsError('QueueDoesNotExist', 'The specified queue does not exist.');
      const taken = receiving.take(current, request.max, request.visibilityMs, now());
      return taken.length > 0 ? taken : undefined;
    };
    const taken =
      waitSeconds > 0
        ? await polls.wait(queue.name, waitSeconds * 1000, signal, attempt)
        : attempt();
    return taken ? { Messages: taken.map((message) => viewMessage(queue, message, request)) } : {};
  }

  const mustFind = (name: string) => {
    const queue = queues.find(name);
    if (!queue) throw sqsError('QueueDoesNotExist', `The queue ${name} does not exist.`);
    return queue;
  };

  return {
    targetPrefixes: ['AmazonSQS'],
    jsonVersion: '1.0',
    operations,
    takeBack(queueName) {
      const queue = mustFind(queueName);
      messages.unreceive(queue, now());
      wake(queue);
    },
    deliver(queueName, MessageBody) {
      const queue = mustFind(queueName);
      const message = checkSend(queue, { MessageBody });
      atomically(state, () => storeMessage(messages, queue, message, now()));
      wake(queue);
    },
    async close() {
      polls.close();
      tasks.close();
    },
  };
}
