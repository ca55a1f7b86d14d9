import type { Divergence } from './divergences.ts';

const ACCEPTED = /the call succeeded/;
const NO_MOVE_TASKS = /is not valid JSON/;

/** Where moto's SQS is not AWS, and how we know what AWS does. All of these were seen on moto 5.2.1. */
export const SQS_DIVERGENCES: readonly Divergence[] = [
  {
    title: 'lists in pages',
    awsIsOn: 'embedded',
    why: 'moto ignores MaxResults, which the API reference describes',
    symptom: /length of 2 but got 3/,
  },
  {
    title: 'refuses a standard queue with the suffix of FIFO queues',
    awsIsOn: 'embedded',
    why: 'moto takes the suffix on any queue; the API reference has no dot in the name of a standard queue',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses attribute values out of range',
    awsIsOn: 'embedded',
    why: 'moto checks only MaximumMessageSize, and only on creation; the ranges are in the API reference',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses attributes that do not exist',
    awsIsOn: 'embedded',
    why: 'moto stores any attribute; AWS was recorded answering "Unknown Attribute"',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses to purge twice within a minute',
    awsIsOn: 'embedded',
    why: 'moto purges as often as asked; AWS was recorded answering PurgeQueueInProgress',
    symptom: ACCEPTED,
  },
  {
    title: 'counts attributes into the size',
    awsIsOn: 'embedded',
    why: 'moto measures the body alone; the developer guide counts attributes in',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses an empty body',
    awsIsOn: 'embedded',
    why: 'moto takes it; the API reference asks for at least one character',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses characters outside XML',
    awsIsOn: 'embedded',
    why: 'moto takes them; the API reference lists the characters that are allowed',
    symptom: ACCEPTED,
  },
  {
    title: 'refuses attributes without a value, and numbers that are none',
    awsIsOn: 'embedded',
    why: 'moto takes them; AWS was recorded refusing an empty value',
    symptom: ACCEPTED,
  },
  {
    title: 'says that a refused entry is the sender’s fault',
    awsIsOn: 'embedded',
    why: 'moto sends the text "true" where the model has a boolean',
    symptom: /'true' to be true/,
  },
  {
    title: 'refuses a change of what was deleted',
    awsIsOn: 'embedded',
    why: 'moto calls the handle invalid; AWS calls the value invalid, since the message is gone',
    symptom: /ReceiptHandleIsInvalid/,
  },
  {
    title: 'does not delete with a handle that is not the latest',
    awsIsOn: 'embedded',
    why: 'moto deletes with every handle; the API reference wants the most recent one',
    symptom: /expected \[\] to deeply equal/,
  },
  {
    title: 'number messages upwards',
    awsIsOn: 'embedded',
    why: 'moto numbers at random; the API reference has numbers that rise within a group',
    symptom: /to deeply equal/,
  },
  {
    title: 'deliver a deduplication id once, also after the message was deleted',
    awsIsOn: 'embedded',
    why: 'moto forgets an id with its message; AWS was recorded keeping it for five minutes',
    symptom: /to be/,
  },
  {
    title: 'deduplicate within a group when that is their scope',
    awsIsOn: 'embedded',
    why: 'moto ignores DeduplicationScope, which the API reference describes',
    symptom: /to deeply equal/,
  },
  {
    title: 'refuse a delete whose visibility timeout has ended',
    awsIsOn: 'embedded',
    why: 'moto deletes; AWS was recorded refusing it as expired',
    symptom: ACCEPTED,
  },
  {
    title: 'cannot become standard queues',
    awsIsOn: 'embedded',
    why: 'moto changes the attribute; AWS was recorded refusing to modify the type',
    symptom: ACCEPTED,
  },
  {
    title: 'say where a message came from',
    awsIsOn: 'embedded',
    why: 'moto has no DeadLetterQueueSourceArn, which the API reference lists',
    symptom: /expected undefined to be/,
  },
  {
    title: 'have to exist',
    awsIsOn: 'embedded',
    why: 'moto says QueueDoesNotExist; users of AWS report an invalid parameter value',
    symptom: /QueueDoesNotExist/,
  },
  {
    title: 'have to be of the same kind',
    awsIsOn: 'embedded',
    why: 'moto mixes FIFO and standard queues, which the API reference rules out',
    symptom: ACCEPTED,
  },
  {
    title: 'are told by a policy that is complete and in range',
    awsIsOn: 'embedded',
    why: 'moto fails with a 500 on a policy that is no JSON; AWS was recorded naming the reason',
    symptom: /is not valid JSON/,
  },
  ...[
    'are moved back to where they came from',
    'are moved to another queue, and the task tells how many',
    'are moved only out of queues that are dead-letter queues',
    'are not moved to queues that do not exist',
  ].map((title) => ({
    title,
    awsIsOn: 'embedded' as const,
    why: 'moto has no message move tasks and answers with a page of HTML',
    symptom: NO_MOVE_TASKS,
  })),
];
