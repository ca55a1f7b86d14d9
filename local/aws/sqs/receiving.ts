import { atomically, type StateDatabase } from '../kit/state-database.ts';
import {
  type MessageAttributes,
  md5,
  md5OfAttributes,
  selectAttributes,
} from './message-attributes.ts';
import type { Candidate, Message, Messages } from './messages.ts';
import { redrivePolicyOf } from './queue-attributes.ts';
import type { Queue, Queues } from './queues.ts';
import { receiptHandleOf } from './receipt-handle.ts';
import { sequenceNumberOf } from './sending.ts';

/** A tenant is noisy, says the service, with over a tenth of what is in flight and at least 30 of its own. */
const NOISY_SHARE = 0.1;
const NOISY_COUNT = 30;

const SWEEP_MS = 60_000;

/** What a receive asks for, and which attributes its answer shows. */
export interface ReceiveRequest {
  readonly max: number;
  readonly visibilityMs: number;
  readonly systemAttributeNames: readonly string[];
  readonly messageAttributeNames: readonly string[];
}

/** Decides which messages a receiver gets. */
export class Receiving {
  readonly #state: StateDatabase;
  readonly #messages: Messages;
  readonly #queues: Queues;
  readonly #onDeadLetter: (target: Queue) => void;
  readonly #sweptAt = new Map<string, number>();

  /** `onDeadLetter` is told after a message has moved to a dead-letter queue. */
  constructor(
    state: StateDatabase,
    messages: Messages,
    queues: Queues,
    onDeadLetter: (target: Queue) => void,
  ) {
    this.#state = state;
    this.#messages = messages;
    this.#queues = queues;
    this.#onDeadLetter = onDeadLetter;
  }

  /** Hands out up to `max` messages; those that were received too often go to the dead-letter queue instead. */
  take(queue: Queue, max: number, visibilityMs: number, now: number): readonly Message[] {
    const policy = redrivePolicyOf(queue.set);
    const deadLetters = policy && this.#queues.ofArn(policy.deadLetterTargetArn);
    const maxReceiveCount = deadLetters ? policy.maxReceiveCount : Number.POSITIVE_INFINITY;
    this.#sweep(queue, now);
    const chosen: number[] = [];
    const dead: number[] = [];
    // Choosing needs no transaction: this connection is the only one, and nothing here waits.
    for (const candidate of this.#eligible(queue, now)) {
      if (candidate.received >= maxReceiveCount) dead.push(candidate.seq);
      else if (chosen.push(candidate.seq) === max) break;
    }
    if (chosen.length === 0 && dead.length === 0) return [];
    const taken = atomically(this.#state, () => {
      if (deadLetters) {
        for (const seq of dead) this.#messages.moveToDeadLetters(seq, queue, deadLetters, now);
      }
      return chosen.map((seq) => this.#messages.claim(seq, now, now + visibilityMs));
    });
    if (deadLetters && dead.length > 0) this.#onDeadLetter(deadLetters);
    return taken;
  }

  #eligible(queue: Queue, now: number): Iterable<Candidate> {
    const oldest = now - retentionMs(queue);
    const inFlight = this.#messages.inFlightByGroup(queue, now);
    return queue.fifo
      ? inGroupOrder(this.#messages.inOrder(queue), new Set(inFlight.keys()), oldest, now)
      : this.#quietFirst(queue, noisyGroups(inFlight), oldest, now);
  }

  *#quietFirst(
    queue: Queue,
    noisy: readonly string[],
    oldest: number,
    now: number,
  ): Iterable<Candidate> {
    const kept = (candidate: Candidate) => candidate.sent_at > oldest;
    for (const candidate of this.#messages.visible(queue, now)) {
      if (kept(candidate) && !noisy.includes(candidate.group_id)) yield candidate;
    }
    for (const group of noisy) {
      for (const candidate of this.#messages.visible(queue, now)) {
        if (kept(candidate) && candidate.group_id === group) yield candidate;
      }
    }
  }

  /** Messages past their retention are never handed out; now and then they are deleted too. */
  #sweep(queue: Queue, now: number): void {
    if (now - (this.#sweptAt.get(queue.name) ?? 0) < SWEEP_MS) return;
    this.#sweptAt.set(queue.name, now);
    this.#messages.deleteSentBefore(queue, now - retentionMs(queue));
  }
}

export const retentionMs = (queue: Queue): number =>
  1000 * Number(queue.effective.MessageRetentionPeriod);

/** A group waits while one of its messages is in flight, and behind one of its messages that is delayed. */
function* inGroupOrder(
  all: Iterable<Candidate>,
  waiting: Set<string>,
  oldest: number,
  now: number,
): Iterable<Candidate> {
  for (const candidate of all) {
    if (candidate.sent_at <= oldest || waiting.has(candidate.group_id)) continue;
    if (candidate.visible_at > now) waiting.add(candidate.group_id);
    else yield candidate;
  }
}

/** Those with the fewest messages in flight first. */
function noisyGroups(inFlight: ReadonlyMap<string, number>): readonly string[] {
  const total = [...inFlight.values()].reduce((sum, count) => sum + count, 0);
  return [...inFlight]
    .filter(([group, count]) => group && count >= NOISY_COUNT && count > total * NOISY_SHARE)
    .sort(([, a], [, b]) => a - b)
    .map(([group]) => group);
}

/** A message as `ReceiveMessage` answers it. */
export function viewMessage(queue: Queue, message: Message, request: ReceiveRequest): object {
  const asked = new Set(request.systemAttributeNames);
  const system = Object.entries(systemAttributes(queue, message))
    .filter(([name, value]) => value !== null && (asked.has('All') || asked.has(name)))
    .map(([name, value]) => [name, String(value)]);
  const all = JSON.parse(message.attributes) as MessageAttributes;
  const selected = selectAttributes(all, request.messageAttributeNames);
  return {
    MessageId: message.id,
    ReceiptHandle: receiptHandleOf(message),
    Body: message.body,
    MD5OfBody: md5(message.body),
    ...(system.length > 0 && { Attributes: Object.fromEntries(system) }),
    ...(Object.keys(selected).length > 0 && {
      MessageAttributes: selected,
      MD5OfMessageAttributes: md5OfAttributes(selected),
    }),
  };
}

function systemAttributes(queue: Queue, message: Message) {
  return {
    SenderId: 'AIDALOCALSENDER',
    SentTimestamp: message.sent_at,
    ApproximateReceiveCount: message.receive_count,
    ApproximateFirstReceiveTimestamp: message.first_received_at,
    MessageGroupId: message.group_id || null,
    MessageDeduplicationId: message.dedup_id,
    SequenceNumber: queue.fifo ? sequenceNumberOf(message.seq) : null,
    AWSTraceHeader: message.trace,
    DeadLetterQueueSourceArn: message.source_arn,
  };
}
