import type { Message, Messages } from './messages.ts';
import type { Queue } from './queues.ts';
import { invalidParameter, missingParameter, sqsError } from './sqs-error.ts';

/** The message a receipt handle names; `latest` is false when it has been received again since. */
export interface Received {
  readonly message: Message;
  readonly latest: boolean;
}

export function receiptHandleOf(message: Message): string {
  const parts = [message.queue, message.seq, message.nonce];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** Undefined when the message is gone; throws `ReceiptHandleIsInvalid` for what is no handle of this queue. */
export function findReceived(
  messages: Messages,
  queue: Queue,
  handle: unknown,
): Received | undefined {
  if (typeof handle !== 'string' || handle === '') throw missingParameter('ReceiptHandle');
  const { name, seq, nonce } = parse(handle);
  if (name !== queue.name) {
    throw sqsError(
      'ReceiptHandleIsInvalid',
      `The input receipt handle "${handle}" is not a valid receipt handle.`,
    );
  }
  const message = messages.find(seq);
  // A message that was moved to another queue is gone from this one.
  if (message?.queue !== queue.name) return undefined;
  return { message, latest: message.nonce === nonce };
}

/**
 * Deletes by handle. A handle that is not the latest succeeds and deletes nothing, as the service documents;
 * on a FIFO queue one whose visibility ran out is refused, since the group may have moved on.
 */
export function deleteReceived(
  messages: Messages,
  queue: Queue,
  handle: unknown,
  now: number,
): void {
  const received = findReceived(messages, queue, handle);
  if (!received) return;
  const { message, latest } = received;
  if (queue.fifo && (!latest || message.visible_at <= now)) {
    throw invalidParameter('ReceiptHandle', handle, 'The receipt handle has expired.');
  }
  if (latest) messages.delete(message.seq);
}

const VISIBILITY_LIMIT_MS = 12 * 60 * 60_000;

/** Hides a received message for longer or shorter, counted from now. */
export function changeVisibility(
  messages: Messages,
  queue: Queue,
  handle: unknown,
  seconds: unknown,
  now: number,
): void {
  if (typeof seconds !== 'number' || !(seconds >= 0 && seconds <= 43_200)) {
    const reason = 'VisibilityTimeout must be an integer between 0 and 43200';
    throw invalidParameter('VisibilityTimeout', seconds, reason);
  }
  const received = findReceived(messages, queue, handle);
  if (!received?.latest) {
    const reason = 'Message does not exist or is not available for visibility timeout change.';
    throw invalidParameter('ReceiptHandle', handle, reason);
  }
  const { message } = received;
  // The service was seen to take a late change on a standard queue, as long as nobody else has the message.
  if (queue.fifo && message.visible_at <= now) {
    throw sqsError('MessageNotInflight', 'The message referred to is not in flight.');
  }
  const visibleAt = now + seconds * 1000;
  if (visibleAt - (message.received_at ?? now) > VISIBILITY_LIMIT_MS) {
    const reason = 'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]';
    throw invalidParameter('VisibilityTimeout', seconds, reason);
  }
  messages.hideUntil(message.seq, visibleAt);
}

function parse(handle: string): { name?: string; seq: number; nonce?: string } {
  try {
    const [name, seq, nonce] = JSON.parse(Buffer.from(handle, 'base64url').toString());
    return { name, seq: Number(seq), nonce };
  } catch {
    return { seq: 0 };
  }
}
