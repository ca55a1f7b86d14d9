import { invalidParameter, invalidValue, sqsError } from './sqs-error.ts';

export type Attributes = Readonly<Record<string, string>>;

/** What an attribute check may ask about other queues. */
export interface KnownQueues {
  /** Whether the queue with this ARN is FIFO; undefined when there is none. */
  isFifo(arn: string): boolean | undefined;
}

export interface RedrivePolicy {
  readonly deadLetterTargetArn: string;
  readonly maxReceiveCount: number;
}

const DEFAULTS: Attributes = {
  DelaySeconds: '0',
  MaximumMessageSize: '1048576',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  SqsManagedSseEnabled: 'true',
  VisibilityTimeout: '30',
};

const FIFO_DEFAULTS: Attributes = {
  ...DEFAULTS,
  ContentBasedDeduplication: 'false',
  DeduplicationScope: 'queue',
  FifoThroughputLimit: 'perQueue',
};

const RANGES: Readonly<Record<string, readonly [low: number, high: number]>> = {
  DelaySeconds: [0, 900],
  KmsDataKeyReusePeriodSeconds: [60, 86_400],
  MaximumMessageSize: [1024, 1_048_576],
  MessageRetentionPeriod: [60, 1_209_600],
  ReceiveMessageWaitTimeSeconds: [0, 20],
  VisibilityTimeout: [0, 43_200],
};

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  FifoQueue: ['true', 'false'],
  SqsManagedSseEnabled: ['true', 'false'],
  ContentBasedDeduplication: ['true', 'false'],
  DeduplicationScope: ['queue', 'messageGroup'],
  FifoThroughputLimit: ['perQueue', 'perMessageGroupId'],
};

const FIFO_ONLY: readonly string[] = [
  'FifoQueue',
  'ContentBasedDeduplication',
  'DeduplicationScope',
  'FifoThroughputLimit',
];

/** An empty value takes these away; for the others it is a mistake. */
const REMOVABLE = ['Policy', 'RedrivePolicy', 'RedriveAllowPolicy', 'KmsMasterKeyId'];

export const COUNTED_ATTRIBUTES = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const;

const READ_ONLY: readonly string[] = [
  ...COUNTED_ATTRIBUTES,
  'QueueArn',
  'CreatedTimestamp',
  'LastModifiedTimestamp',
];

const SETTABLE = new Set([...Object.keys(RANGES), ...Object.keys(CHOICES), ...REMOVABLE]);

/** What a queue behaves by: what was set on it over the service's defaults. */
export function effectiveAttributes(fifo: boolean, set: Attributes): Attributes {
  return { ...(fifo ? FIFO_DEFAULTS : DEFAULTS), ...set };
}

/** Throws `InvalidAttributeName` for names that `GetQueueAttributes` does not know. */
export function checkAttributeNames(names: readonly string[]): void {
  for (const name of names) {
    if (name !== 'All' && !SETTABLE.has(name) && !READ_ONLY.includes(name)) {
      throw sqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
    }
  }
}

/** Checks attributes given to create or change a queue of the given type. */
export function checkAttributes(fifo: boolean, given: Attributes, known: KnownQueues): void {
  for (const [name, value] of Object.entries(given)) {
    if (!SETTABLE.has(name) || (!fifo && FIFO_ONLY.includes(name))) {
      throw sqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
    }
    if (value === '' && REMOVABLE.includes(name)) continue;
    checkValue(name, value);
  }
  if (given.RedrivePolicy) checkRedrivePolicy(fifo, given.RedrivePolicy, known);
}

/** The attributes after a change; an empty value of a removable attribute takes it away. */
export function withChanges(current: Attributes, changes: Attributes): Attributes {
  const next = Object.entries({ ...current, ...changes });
  return Object.fromEntries(next.filter(([name, value]) => value !== '' || !isRemovable(name)));
}

export function redrivePolicyOf(attributes: Attributes): RedrivePolicy | undefined {
  if (!attributes.RedrivePolicy) return undefined;
  const policy = JSON.parse(attributes.RedrivePolicy) as RedrivePolicy;
  return {
    deadLetterTargetArn: policy.deadLetterTargetArn,
    maxReceiveCount: Number(policy.maxReceiveCount),
  };
}

const isRemovable = (name: string) => REMOVABLE.includes(name);

function checkValue(name: string, value: unknown): void {
  const range = RANGES[name];
  const choices = CHOICES[name];
  const text = String(value);
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  const fits = range
    ? number >= range[0] && number <= range[1]
    : (choices?.includes(text) ?? text !== '');
  if (!fits) {
    throw sqsError('InvalidAttributeValue', `Invalid value for the parameter ${name}.`);
  }
}

function checkRedrivePolicy(fifo: boolean, text: string, known: KnownQueues): void {
  const refuse = (reason: string) => invalidParameter('RedrivePolicy', text, reason);
  let policy: Record<string, unknown>;
  try {
    policy = JSON.parse(text);
  } catch {
    throw refuse('Redrive policy is not a valid JSON map.');
  }
  const { deadLetterTargetArn: arn, maxReceiveCount: count } = policy ?? {};
  if (arn === undefined || count === undefined) {
    throw refuse('Redrive policy does not contain all mandatory attributes.');
  }
  if (!/^arn:[\w-]+:sqs:[\w-]+:\d{12}:.+$/.test(String(arn))) {
    throw refuse('Invalid value for deadLetterTargetArn.');
  }
  if (!(Number.isInteger(Number(count)) && Number(count) >= 1 && Number(count) <= 1000)) {
    throw refuse('Invalid value for maxReceiveCount: must be between 1 and 1000.');
  }
  const targetIsFifo = known.isFifo(String(arn));
  if (targetIsFifo === undefined) throw refuse('Dead letter target does not exist.');
  if (targetIsFifo !== fifo) {
    throw refuse('Dead-letter queue must be same type of queue as the source.');
  }
}

/** Checks a new queue's name against the type asked for. */
export function checkQueueName(name: unknown, fifo: boolean): asserts name is string {
  const text = String(name ?? '');
  const plain = fifo ? text.replace(/\.fifo$/, '') : text;
  const wellFormed = /^[\w-]{1,80}$/.test(plain) && text.length <= 80;
  if (wellFormed && fifo === text.endsWith('.fifo')) return;
  throw invalidValue(
    fifo
      ? 'The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix and be 1 to 80 in length.'
      : 'Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length',
  );
}
