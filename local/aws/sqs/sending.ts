import { createHash } from 'node:crypto';
import {
  checkCharacters,
  checkMessageAttributes,
  type MessageAttributes,
  md5,
  md5OfAttributes,
  sizeOf,
} from './message-attributes.ts';
import type { Messages } from './messages.ts';
import type { Queue } from './queues.ts';
import {
  invalidParameter,
  invalidValue,
  missingParameter,
  sqsError,
  wholeNumber,
} from './sqs-error.ts';

/** The part of a `SendMessage` request, or of an entry of a batch, that makes a message. */
export interface SendRequest {
  readonly MessageBody?: unknown;
  readonly MessageAttributes?: MessageAttributes;
  readonly MessageSystemAttributes?: MessageAttributes;
  readonly DelaySeconds?: unknown;
  readonly MessageGroupId?: unknown;
  readonly MessageDeduplicationId?: unknown;
}

export interface SendAnswer {
  readonly MessageId: string;
  readonly MD5OfMessageBody: string;
  readonly MD5OfMessageAttributes?: string | undefined;
  readonly MD5OfMessageSystemAttributes?: string | undefined;
  readonly SequenceNumber?: string;
}

/** A request that passed every check, ready to be stored. */
export interface Sendable {
  readonly body: string;
  readonly attributes: MessageAttributes;
  readonly systemAttributes: MessageAttributes;
  readonly delayMs: number;
  readonly groupId: string;
  readonly dedupId: string | null;
}

const MAX_DELAY_SECONDS = 900;
const MAX_BATCH_BYTES = 1_048_576;
const GROUP_OR_DEDUP_ID = /^[\w!"#$%&'()*+,\-./:;<=>?@[\\\]^`{|}~]{1,128}$/;

/** Throws what SQS answers when the message is not acceptable to this queue. */
export function checkSend(queue: Queue, request: SendRequest): Sendable {
  const body = request.MessageBody;
  if (typeof body !== 'string' || body === '') throw missingParameter('MessageBody');
  checkCharacters(body);
  const attributes = request.MessageAttributes ?? {};
  const systemAttributes = request.MessageSystemAttributes ?? {};
  checkMessageAttributes(attributes);
  checkSystemAttributes(systemAttributes);
  const size = sizeOf(body, attributes);
  const limit = Number(queue.effective.MaximumMessageSize);
  if (size > limit) {
    throw invalidValue(
      `One or more parameters are invalid. Reason: Message must be shorter than ${limit} bytes.`,
    );
  }
  return {
    body,
    attributes,
    systemAttributes,
    delayMs: 1000 * delaySecondsOf(queue, request.DelaySeconds),
    groupId: groupOf(queue, request.MessageGroupId),
    dedupId: queue.fifo ? dedupIdOf(queue, body, request.MessageDeduplicationId) : null,
  };
}

/** Throws what refuses a batch as a whole: its size, and on a FIFO queue an entry without its ids. */
export function checkSendBatch(queue: Queue, entries: readonly SendRequest[]): void {
  const bytes = entries.reduce(
    (sum, entry) => sum + sizeOf(String(entry.MessageBody ?? ''), entry.MessageAttributes ?? {}),
    0,
  );
  if (bytes > MAX_BATCH_BYTES) {
    throw sqsError(
      'BatchRequestTooLong',
      `Batch requests cannot be longer than ${MAX_BATCH_BYTES} bytes. You have sent ${bytes} bytes.`,
    );
  }
  if (!queue.fifo) return;
  for (const entry of entries) {
    if (entry.MessageGroupId === undefined) {
      throw invalidValue('The request must contain the parameter MessageGroupId.');
    }
    dedupIdOf(queue, String(entry.MessageBody ?? ''), entry.MessageDeduplicationId);
  }
}

/** Stores a checked message; a FIFO duplicate within five minutes is answered with its first copy. */
export function storeMessage(
  messages: Messages,
  queue: Queue,
  message: Sendable,
  now: number,
): SendAnswer {
  const digests = {
    MD5OfMessageBody: md5(message.body),
    MD5OfMessageAttributes: md5OfAttributes(message.attributes),
    MD5OfMessageSystemAttributes: md5OfAttributes(message.systemAttributes),
  };
  const scope = queue.effective.DeduplicationScope === 'messageGroup' ? message.groupId : '';
  if (message.dedupId !== null) {
    const first = messages.deduplicated(queue, scope, message.dedupId, now);
    if (first) {
      const SequenceNumber = sequenceNumberOf(first.seq);
      return { MessageId: first.message_id, ...digests, SequenceNumber };
    }
  }
  const { id, seq } = messages.insert({
    queue: queue.name,
    sent_at: now,
    visible_at: now + message.delayMs,
    group_id: message.groupId,
    dedup_id: message.dedupId,
    trace: message.systemAttributes.AWSTraceHeader?.StringValue ?? null,
    attributes: JSON.stringify(message.attributes),
    body: message.body,
  });
  if (message.dedupId === null) return { MessageId: id, ...digests };
  messages.remember(queue, scope, message.dedupId, now, { message_id: id, seq });
  return { MessageId: id, ...digests, SequenceNumber: sequenceNumberOf(seq) };
}

/** 20 digits that rise within a queue, as the service makes them. */
export function sequenceNumberOf(seq: number): string {
  return String(10_000_000_000_000_000_000n + BigInt(seq));
}

function delaySecondsOf(queue: Queue, asked: unknown): number {
  if (asked === undefined) return Number(queue.effective.DelaySeconds);
  if (queue.fifo && asked !== 0) {
    const reason = 'The request include parameter that is not valid for this queue type.';
    throw invalidParameter('DelaySeconds', asked, reason);
  }
  const seconds = wholeNumber('DelaySeconds', asked, 0, MAX_DELAY_SECONDS);
  return queue.fifo ? Number(queue.effective.DelaySeconds) : seconds;
}

function groupOf(queue: Queue, asked: unknown): string {
  if (asked === undefined) {
    if (queue.fifo) throw missingParameter('MessageGroupId');
    return '';
  }
  return checkedId('MessageGroupId', asked);
}

function dedupIdOf(queue: Queue, body: string, asked: unknown): string {
  if (asked !== undefined) return checkedId('MessageDeduplicationId', asked);
  if (queue.effective.ContentBasedDeduplication === 'true') {
    return createHash('sha256').update(body).digest('hex');
  }
  throw invalidValue(
    'The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly',
  );
}

function checkedId(name: string, value: unknown): string {
  if (typeof value === 'string' && GROUP_OR_DEDUP_ID.test(value)) return value;
  const reason = `${name} can only include alphanumeric and punctuation characters. 1 to 128 in length.`;
  throw invalidParameter(name, value, reason);
}

function checkSystemAttributes(attributes: MessageAttributes): void {
  for (const [name, { DataType, StringValue }] of Object.entries(attributes)) {
    if (name !== 'AWSTraceHeader' || DataType !== 'String' || !StringValue) {
      throw invalidValue(`Message system attribute name '${name}' is invalid.`);
    }
  }
}
