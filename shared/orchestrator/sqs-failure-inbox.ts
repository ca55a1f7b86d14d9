import {
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import {
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { z } from 'zod';
import { givenUpMessageSchema } from './sqs-stream-failures.ts';
import type { FailureInbox, FailureNotice, PageRange } from './stream-failures.ts';

/** What Lambda puts into an on-failure destination: where the records are, not what they hold. */
const positionsSchema = z.object({
  DDBStreamBatchInfo: z.object({
    shardId: z.string(),
    startSequenceNumber: z.string().regex(/^\d+$/),
    endSequenceNumber: z.string().regex(/^\d+$/),
    approximateArrivalOfFirstRecord: z.string(),
    approximateArrivalOfLastRecord: z.string(),
    batchSize: z.number(),
    streamArn: z.string(),
  }),
});
type Positions = z.infer<typeof positionsSchema>['DDBStreamBatchInfo'];

/** A shard answers empty pages where nothing was written; this many say that nothing is left of a batch. */
const MAX_EMPTY_PAGES = 20;
/** What says that the records or their shard have left the stream. */
const GONE = ['TrimmedDataAccessException', 'ResourceNotFoundException'];

/**
 * The failures of one consumer. Places in the stream become names of pages as long as the stream has them (24 h); what
 * is then published comes from the table.
 */
export function openSqsFailureInbox(
  clients: { sqs: SQSClient; streams: DynamoDBStreamsClient },
  queueUrl: string,
): FailureInbox {
  const { sqs, streams } = clients;
  return {
    async take() {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      return Promise.all(
        Messages.map(
          async ({ MessageId: id = '', Body = '', ReceiptHandle }): Promise<FailureNotice> => {
            const done = async () => {
              await sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
            };
            return { id, done, ...(await readNotice(streams, Body)) };
          },
        ),
      );
    },
    async waiting() {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: queueUrl,
          AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
        }),
      );
      return (
        Number(Attributes?.ApproximateNumberOfMessages ?? 0) +
        Number(Attributes?.ApproximateNumberOfMessagesNotVisible ?? 0)
      );
    },
  };
}

type Content =
  | { kind: 'pages'; ranges: PageRange[] }
  | { kind: 'lost' | 'unknown'; detail: string };

async function readNotice(streams: DynamoDBStreamsClient, body: string): Promise<Content> {
  const json = parseJson(body);
  const named = givenUpMessageSchema.safeParse(json);
  if (named.success) {
    const { tenantId, runId, fromPage } = named.data;
    return { kind: 'pages', ranges: [{ ref: { tenantId, runId }, fromPage }] };
  }
  const placed = positionsSchema.safeParse(json);
  if (!placed.success) return { kind: 'unknown', detail: body.slice(0, 200) };
  const batch = placed.data.DDBStreamBatchInfo;
  try {
    return { kind: 'pages', ranges: rangesOf(await readBatch(streams, batch)) };
  } catch (error) {
    if (!(error instanceof Error && GONE.includes(error.name))) throw error;
    const { batchSize, approximateArrivalOfFirstRecord: first } = batch;
    return {
      kind: 'lost',
      detail: `${batchSize} records written from ${first} to ${batch.approximateArrivalOfLastRecord}`,
    };
  }
}

async function readBatch(
  streams: DynamoDBStreamsClient,
  batch: Positions,
): Promise<StreamRecord[]> {
  const { ShardIterator } = await streams.send(
    new GetShardIteratorCommand({
      StreamArn: batch.streamArn,
      ShardId: batch.shardId,
      ShardIteratorType: 'AT_SEQUENCE_NUMBER',
      SequenceNumber: batch.startSequenceNumber,
    }),
  );
  const end = BigInt(batch.endSequenceNumber);
  const isBehind = ({ dynamodb }: StreamRecord) => BigInt(dynamodb?.SequenceNumber ?? 0) > end;
  const records: StreamRecord[] = [];
  let iterator = ShardIterator;
  for (let empty = 0; iterator && empty < MAX_EMPTY_PAGES; ) {
    const page = await streams.send(new GetRecordsCommand({ ShardIterator: iterator }));
    const found = page.Records ?? [];
    records.push(...found.filter((record) => !isBehind(record)));
    if (found.some(isBehind)) break;
    if (records.at(-1)?.dynamodb?.SequenceNumber === batch.endSequenceNumber) break;
    empty = found.length > 0 ? 0 : empty + 1;
    iterator = page.NextShardIterator;
  }
  return records;
}

/** Per run, the pages that were inserted there. */
function rangesOf(records: readonly StreamRecord[]): PageRange[] {
  const pages = records.flatMap(({ eventName, dynamodb }) => {
    const { kind, tenantId, runId, index } = dynamodb?.NewImage ?? {};
    if (eventName !== 'INSERT' || kind?.S !== 'page') return [];
    if (!tenantId?.S || !runId?.S || !index?.N) return [];
    return [{ ref: { tenantId: tenantId.S, runId: runId.S }, index: Number(index.N) }];
  });
  return [...Map.groupBy(pages, ({ ref }) => `${ref.tenantId}#${ref.runId}`).values()].flatMap(
    (ofRun) => {
      const indexes = ofRun.map(({ index }) => index);
      const [first] = ofRun;
      if (!first) return [];
      return [{ ref: first.ref, fromPage: Math.min(...indexes), toPage: Math.max(...indexes) }];
    },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
