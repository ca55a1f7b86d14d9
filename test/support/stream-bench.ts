import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import {
  CreateQueueCommand,
  PurgeQueueCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { openDynamo } from '#local/aws/dynamo/service.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import {
  inProcess,
  insertionsOf,
  type LambdaHandler,
  type StreamSource,
  startStreamSource,
} from '#local/lambda/index.ts';
import { makeTable } from '#local/stack/make-table.ts';
import { platformEvent } from '#shared/contracts/index.ts';
import { openDynamoParkedRuns } from '#shared/orchestrator/dynamo-parked-runs.ts';
import type { BusEvent, BusRefusal, EventBus, Logger } from '#shared/orchestrator/index.ts';
import { openSqsFailureInbox } from '#shared/orchestrator/sqs-failure-inbox.ts';
import { SqsStreamFailures } from '#shared/orchestrator/sqs-stream-failures.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, RunLedger } from '#shared/runs/index.ts';
import { Table } from '#shared/table/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { at, claimOf, creationOf, NOON, noticeEvent, queuedHead } from './run-builders.ts';

export const silentLog: Logger = { info() {}, warn() {}, error() {} };

/** A bus that remembers what it took, and refuses what a rule says. */
export class RecordingBus implements EventBus {
  /** Ids of events, in the order in which they were taken; repeats included. */
  readonly taken: string[] = [];
  refuses: (eventId: string) => BusRefusal['cause'] | undefined = () => undefined;

  async publish(events: readonly BusEvent[]): Promise<readonly BusRefusal[]> {
    return events.flatMap(({ event }, index) => {
      const cause = this.refuses(event.eventId);
      if (!cause) this.taken.push(event.eventId);
      return cause ? [{ index, cause, code: `made_up_${cause}` }] : [];
    });
  }

  /** The events of a run in the order in which the bus had each first. */
  firstsOf(runId: string): number[] {
    const ids = [...new Set(this.taken)].filter((id) => id.startsWith(`${runId}.`));
    return ids.map((id) => Number(id.split('.')[1]));
  }
}

/** The table, its stream and the queues of failures, embedded; what reads the stream; and runs to write into it. */
export async function openStreamBench(options: { streamRetention?: number } = {}) {
  const state = openStateDatabase();
  const endpoint = await startAwsEndpoint({
    services: [
      await openDynamo({ state, ttlSweepMs: 0, ...options }),
      openSqs({
        state,
        region: 'us-east-1',
        accountId: '000000000000',
        endpointUrl: (): string => endpoint.url,
      }),
    ],
  });
  const config = {
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  };
  const dynamo = new DynamoDBClient(config);
  const streams = new DynamoDBStreamsClient(config);
  const sqs = new SQSClient(config);
  const streamArn = await makeTable(dynamo, 'nexusdesk');
  const table = new Table(dynamo, 'nexusdesk');
  const makeQueue = async (QueueName: string) =>
    String((await sqs.send(new CreateQueueCommand({ QueueName }))).QueueUrl);
  const queues = {
    outbox: await makeQueue('outbox-failed'),
    usage: await makeQueue('usage-failed'),
  };

  const sources: StreamSource[] = [];
  const clock = { now: () => Date.now() };
  const ledger = openDynamoRunLedger(table);
  const bus = new RecordingBus();
  const relay = {
    bus,
    parked: openDynamoParkedRuns(table, clock),
    failures: new SqsStreamFailures(sqs, queues.outbox),
    clock,
    log: silentLog,
    wait: async () => {},
    readPage: readPageImage,
  };
  const fold = {
    ledger,
    usage: openDynamoUsageStore(table),
    failures: new SqsStreamFailures(sqs, queues.usage),
    log: silentLog,
    readPage: readPageImage,
  };
  const redrive = {
    ...relay,
    ledger,
    usage: fold.usage,
    inboxes: {
      outbox: openSqsFailureInbox({ sqs, streams }, queues.outbox),
      usage: openSqsFailureInbox({ sqs, streams }, queues.usage),
    },
  };

  return {
    table,
    ledger,
    bus,
    relay,
    fold,
    redrive,
    queues,
    /** Puts a message into a queue of failures, as Lambda would. */
    tell: (queue: keyof typeof queues, body: object) =>
      sqs.send(
        new SendMessageCommand({ QueueUrl: queues[queue], MessageBody: JSON.stringify(body) }),
      ),
    emptyQueue: (queue: keyof typeof queues) =>
      sqs.send(new PurgeQueueCommand({ QueueUrl: queues[queue] })),

    /** Runs a handler behind the stream, as the catalogue describes the function, but for the waits; until closed. */
    follow(
      name: 'relay-outbox' | 'fold-usage',
      handler: unknown,
      extra: { maxRetryAttempts?: number; batchSize?: number } = {},
    ): StreamSource {
      const trigger = FUNCTIONS.find((entry) => entry.name === `workers/${name}`)?.trigger;
      if (trigger?.kind !== 'tableStream') throw new TypeError(`${name} does not read the stream`);
      const source = startStreamSource({
        streams,
        streamArn,
        state,
        invoker: inProcess({
          name,
          timeoutMs: 30_000,
          load: async () => handler as LambdaHandler,
          onError: () => {},
        }),
        batchSize: trigger.batchSize,
        filter: insertionsOf(trigger.inserts),
        reportBatchItemFailures: true,
        bisectBatchOnFunctionError: true,
        retryDelayMs: () => 1,
        idlePollMs: 5,
        onFailure: (batch) => this.tell(name === 'relay-outbox' ? 'outbox' : 'usage', batch),
        ...extra,
      });
      sources.push(source);
      return source;
    },

    async accept(fields: Partial<RunHead> = {}): Promise<RunHead> {
      const head = queuedHead(fields);
      await ledger.createRun(creationOf(head));
      return head;
    },
    claim: (head: RunHead) => claimed(ledger, head),
    /** One more page of a claimed run, with this many events. */
    async append(head: RunHead, events = 1): Promise<void> {
      const appended = await ledger.appendPage({
        ref: head,
        epoch: head.epoch,
        traceId: head.traceId,
        position: await ledger.logEnd(head),
        firstProducerSequence: 1_000_000 + Math.floor(performance.now() * 1_000),
        events: Array.from({ length: events }, (_, n) => noticeEvent(`notice ${n}`)),
      });
      if (appended.outcome !== 'stored') throw new Error(appended.outcome);
    },
    async finish(head: RunHead, usage = {}, now = at(60)): Promise<void> {
      const ended = await ledger.finishRun({
        head,
        ending: { status: 'completed', usage },
        events: [platformEvent('run.completed', { usage }, { timestamp: now })],
        now,
      });
      if (ended.outcome !== 'applied') throw new Error(ended.outcome);
    },
    async close(): Promise<void> {
      await Promise.all(sources.map((source) => source.stop()));
      for (const client of [dynamo, streams, sqs]) client.destroy();
      await endpoint.close();
      state.close();
    },
  };
}
export type StreamBench = Awaited<ReturnType<typeof openStreamBench>>;

async function claimed(ledger: RunLedger, head: RunHead): Promise<RunHead> {
  const claim = await ledger.claimForLaunch(claimOf(head));
  if (claim.outcome !== 'claimed') throw new Error(claim.outcome);
  const hosted = await ledger.claimByHost({
    ref: claim.head,
    epoch: claim.head.epoch,
    hostInstanceId: 'host-aaaa',
    leaseExpiresAt: at(45),
    now: NOON,
  });
  if (hosted.outcome !== 'applied') throw new Error(hosted.outcome);
  return hosted.head;
}
