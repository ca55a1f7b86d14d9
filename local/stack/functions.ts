import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import {
  type EventSource,
  type FunctionError,
  inProcess,
  insertionsOf,
  type LambdaInvoker,
  startScheduleSource,
  startSqsSource,
  startStreamSource,
} from '#local/lambda/index.ts';
import {
  FUNCTIONS,
  type FunctionEntry,
  STREAM_MAX_AGE_MS,
  STREAM_MAX_RETRIES,
} from '#shared/topology/index.ts';
import { PLACE } from './place.ts';
import type { Provisioned } from './provision.ts';

export type Functions = ReadonlyMap<string, LambdaInvoker>;

/** An invoker for each function of the catalogue, loaded from its folder at its first invocation. */
export function loadFunctions(options: {
  projectRoot: string;
  onError: (name: string, requestId: string, error: FunctionError) => void;
}): Functions {
  return new Map(
    FUNCTIONS.map((entry) => [
      entry.name,
      inProcess({
        name: entry.name.replace('/', '-'),
        timeoutMs: entry.timeoutMs,
        memoryMb: entry.memoryMb,
        onError: options.onError,
        load: async () => {
          const file = join(options.projectRoot, 'functions', entry.name, 'index.ts');
          return ((await import(pathToFileURL(file).href)) as { handler: never }).handler;
        },
      }),
    ]),
  );
}

export function functionOf(functions: Functions, name: string): LambdaInvoker {
  const invoker = functions.get(name);
  if (!invoker) throw new TypeError(`there is no function ${name}`);
  return invoker;
}

/** Functions that people invoke by name, once their environment is complete. */
export function operatorFunctions(
  functions: Functions,
  ready: Promise<void>,
): (functionName: string) => LambdaInvoker | undefined {
  return (functionName) => {
    const entry = FUNCTIONS.find(
      ({ name, trigger }) => trigger.kind === 'operator' && name.replace('/', '-') === functionName,
    );
    if (!entry) return undefined;
    const invoker = functionOf(functions, entry.name);
    return { ...invoker, invoke: (event) => ready.then(() => invoker.invoke(event)) };
  };
}

/** Starts what invokes functions by itself: queues, the table's stream, the schedule. */
export function startSources(options: {
  functions: Functions;
  provisioned: Provisioned;
  state: StateDatabase;
  /** A laptop's sweeper looks more often than the cloud's. */
  sweepEveryMs: number;
}): EventSource[] {
  return FUNCTIONS.flatMap((entry) => startSource(entry, options) ?? []);
}

function startSource(
  entry: FunctionEntry,
  options: Parameters<typeof startSources>[0],
): EventSource | undefined {
  const invoker = functionOf(options.functions, entry.name);
  const { trigger } = entry;
  const { provisioned, state } = options;
  switch (trigger.kind) {
    case 'queue':
      return startSqsSource({
        sqs: new SQSClient({}),
        queueUrl:
          trigger.queue === 'runs' ? provisioned.runsQueueUrl : provisioned.deadLetterQueueUrl,
        region: PLACE.region,
        invoker,
        batchSize: trigger.batchSize,
        maxConcurrency: trigger.maxConcurrency,
        reportBatchItemFailures: true,
      });
    case 'tableStream':
      return startStreamSource({
        streams: new DynamoDBStreamsClient({}),
        streamArn: provisioned.streamArn,
        invoker,
        state,
        batchSize: trigger.batchSize,
        startingPosition: 'TRIM_HORIZON',
        reportBatchItemFailures: true,
        bisectBatchOnFunctionError: true,
        maxRetryAttempts: STREAM_MAX_RETRIES,
        maxRecordAgeMs: STREAM_MAX_AGE_MS,
        filter: insertionsOf(trigger.inserts),
        onFailure: (batch) =>
          new SQSClient({}).send(
            new SendMessageCommand({
              QueueUrl: failuresQueueOf(provisioned, entry),
              MessageBody: JSON.stringify(batch),
            }),
          ),
      });
    case 'schedule':
      return startScheduleSource({
        name: entry.name.replace('/', '-'),
        everyMs: options.sweepEveryMs,
        invoker,
        state,
        ...PLACE,
      });
    case 'http':
    case 'authorizer':
    case 'taskStopped':
    case 'operator':
      return undefined;
  }
}

function failuresQueueOf(provisioned: Provisioned, { name }: FunctionEntry): string {
  const url = provisioned.failureQueueUrls[name];
  if (!url) throw new TypeError(`${name} has no queue for its failures`);
  return url;
}
