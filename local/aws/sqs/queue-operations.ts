import type { AwsOperation } from '../kit/aws-endpoint.ts';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import type { Messages } from './messages.ts';
import {
  type Attributes,
  checkAttributeNames,
  checkAttributes,
  checkQueueName,
  effectiveAttributes,
  withChanges,
} from './queue-attributes.ts';
import type { Queue, Queues } from './queues.ts';
import { retentionMs } from './receiving.ts';
import { missingParameter, sqsError, wholeNumber } from './sqs-error.ts';

interface Parts {
  readonly state: StateDatabase;
  readonly queues: Queues;
  readonly messages: Messages;
  readonly now: () => number;
  /** Told of a queue whose waiting receivers have something to learn. */
  readonly wake: (queue: Queue) => void;
}

const PURGE_PAUSE_MS = 60_000;

/** The operations on queues themselves: create, find, describe, change, purge, tag, delete. */
export function queueOperations(parts: Parts): Record<string, AwsOperation> {
  const { state, queues, messages, now, wake } = parts;
  const seconds = () => Math.floor(now() / 1000);
  return {
    CreateQueue({ QueueName, Attributes = {}, tags = {} }) {
      const fifo = Attributes.FifoQueue === 'true';
      checkQueueName(QueueName, fifo);
      checkAttributes(fifo, withoutFalseFifo(Attributes), queues);
      const existing = queues.find(QueueName);
      if (existing) checkSameAttributes(existing, Attributes);
      const queue =
        existing ??
        queues.save({
          name: QueueName,
          set: withChanges({}, withoutFalseFifo(Attributes)),
          tags,
          createdAt: seconds(),
          modifiedAt: seconds(),
          purgedAt: null,
        });
      return { QueueUrl: queues.urlOf(queue) };
    },

    GetQueueUrl({ QueueName }) {
      if (!QueueName) throw missingParameter('QueueName');
      return { QueueUrl: queues.urlOf(queues.named(QueueName)) };
    },

    ListQueues({ QueueNamePrefix = '', MaxResults, NextToken }) {
      const limit =
        MaxResults === undefined ? 1000 : wholeNumber('MaxResults', MaxResults, 1, 1000);
      const after = NextToken ? Buffer.from(String(NextToken), 'base64url').toString() : '';
      const found = queues
        .all()
        .filter(({ name }) => name.startsWith(QueueNamePrefix) && name > after);
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return {
        ...(page.length > 0 && { QueueUrls: page.map((queue) => queues.urlOf(queue)) }),
        ...(last &&
          found.length > limit &&
          MaxResults !== undefined && { NextToken: Buffer.from(last.name).toString('base64url') }),
      };
    },

    GetQueueAttributes({ QueueUrl, AttributeNames = [] }) {
      const queue = queues.ofUrl(QueueUrl);
      checkAttributeNames(AttributeNames);
      if (AttributeNames.length === 0) return {};
      const all = Object.entries(describe(parts, queue));
      const asked = all.filter(
        ([name]) => AttributeNames.includes('All') || AttributeNames.includes(name),
      );
      return { Attributes: Object.fromEntries(asked) };
    },

    SetQueueAttributes({ QueueUrl, Attributes = {} }) {
      const queue = queues.ofUrl(QueueUrl);
      if (queue.fifo && Attributes.FifoQueue !== undefined && Attributes.FifoQueue !== 'true') {
        const reason = 'Reason: Modifying queue type is not supported.';
        throw sqsError(
          'InvalidAttributeValue',
          `Invalid value for the parameter FifoQueue. ${reason}`,
        );
      }
      checkAttributes(queue.fifo, Attributes, queues);
      const set = withChanges(queue.set, Attributes);
      queues.save({ ...queue, set, modifiedAt: seconds() });
    },

    DeleteQueue({ QueueUrl }) {
      const queue = queues.ofUrl(QueueUrl);
      atomically(state, () => {
        messages.deleteAll(queue);
        messages.forgetDeduplication(queue);
        queues.delete(queue);
      });
      wake(queue);
    },

    PurgeQueue({ QueueUrl }) {
      const queue = queues.ofUrl(QueueUrl);
      if (queue.purgedAt !== null && now() - queue.purgedAt < PURGE_PAUSE_MS) {
        throw sqsError(
          'PurgeQueueInProgress',
          `Only one PurgeQueue operation on ${queue.name} is allowed every 60 seconds.`,
        );
      }
      atomically(state, () => {
        messages.deleteAll(queue);
        queues.save({ ...queue, purgedAt: now() });
      });
    },

    ListDeadLetterSourceQueues({ QueueUrl }) {
      const sources = queues.sourcesOf(queues.ofUrl(QueueUrl));
      return { queueUrls: sources.map((queue) => queues.urlOf(queue)) };
    },

    TagQueue({ QueueUrl, Tags = {} }) {
      const queue = queues.ofUrl(QueueUrl);
      queues.save({ ...queue, tags: { ...queue.tags, ...Tags } });
    },

    UntagQueue({ QueueUrl, TagKeys = [] }) {
      const queue = queues.ofUrl(QueueUrl);
      const kept = Object.entries(queue.tags).filter(([key]) => !TagKeys.includes(key));
      queues.save({ ...queue, tags: Object.fromEntries(kept) });
    },

    ListQueueTags({ QueueUrl }) {
      return { Tags: queues.ofUrl(QueueUrl).tags };
    },
  };
}

function describe({ messages, now }: Parts, queue: Queue): Attributes {
  messages.deleteSentBefore(queue, now() - retentionMs(queue));
  const counts = messages.count(queue, now());
  return {
    ...queue.effective,
    QueueArn: queue.arn,
    CreatedTimestamp: String(queue.createdAt),
    LastModifiedTimestamp: String(queue.modifiedAt),
    ApproximateNumberOfMessages: String(counts.visible),
    ApproximateNumberOfMessagesNotVisible: String(counts.inFlight),
    ApproximateNumberOfMessagesDelayed: String(counts.delayed),
  };
}

/** `FifoQueue: false` is what a standard queue is anyway, and is not among its attributes. */
function withoutFalseFifo(attributes: Attributes): Attributes {
  const { FifoQueue, ...rest } = attributes;
  return FifoQueue === undefined || FifoQueue === 'false' ? rest : attributes;
}

function checkSameAttributes(existing: Queue, asked: Attributes): void {
  const wanted = effectiveAttributes(existing.fifo, withoutFalseFifo(asked));
  for (const name of Object.keys(asked)) {
    if (name !== 'FifoQueue' && existing.effective[name] !== wanted[name]) {
      throw sqsError(
        'QueueNameExists',
        `A queue already exists with the same name and a different value for attribute ${name}`,
      );
    }
  }
}
