import { AwsError } from '../kit/aws-error.ts';
import type { DynamoContext, Input, Operations } from './context.ts';
import { validationError } from './dynamo-error.ts';
import type { Stream } from './storage.ts';
import { sequenceNumber, sequenceOf } from './stream-record.ts';

/** Every stream is one shard: a harder order than AWS gives, which keeps it only per item. */
const SHARD_ID = 'shardId-00000001700000000000-00000001';
const MAX_RECORDS = 1000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const ITERATOR_LIFETIME_MS = 15 * 60 * 1000;

/** The DynamoDB Streams API. */
export function streamOperations(context: DynamoContext): Operations {
  return {
    ListStreams: (input) => listStreams(context, input),
    DescribeStream: (input) => describeStream(context, input),
    GetShardIterator: (input) => getShardIterator(context, input),
    GetRecords: (input) => getRecords(context, input),
  };
}

function streamOf({ streams }: DynamoContext, arn: unknown): Stream {
  const stream = typeof arn === 'string' ? streams.byArn(arn) : undefined;
  if (stream) return stream;
  throw new AwsError(
    'ResourceNotFoundException',
    `Requested resource not found: Stream: ${arn} not found`,
  );
}

function listStreams({ streams }: DynamoContext, input: Input): object {
  const { TableName, ExclusiveStartStreamArn, Limit = 100 } = input;
  const all = streams.list().filter((stream) => !TableName || stream.tableName === TableName);
  const start = all.findIndex((stream) => stream.arn === ExclusiveStartStreamArn) + 1;
  const page = all.slice(start, start + Limit);
  return {
    Streams: page.map(({ arn, label, tableName }) => ({
      StreamArn: arn,
      StreamLabel: label,
      TableName: tableName,
    })),
    ...(start + page.length < all.length && { LastEvaluatedStreamArn: page.at(-1)?.arn }),
  };
}

function describeStream(context: DynamoContext, input: Input): object {
  const stream = streamOf(context, input.StreamArn);
  const ended = stream.endedAt !== undefined;
  const shard = {
    ShardId: SHARD_ID,
    SequenceNumberRange: {
      StartingSequenceNumber: sequenceNumber(stream.trimmedTo + 1),
      ...(ended && {
        EndingSequenceNumber: sequenceNumber(context.streams.lastSequence(stream)),
      }),
    },
  };
  return {
    StreamDescription: {
      StreamArn: stream.arn,
      StreamLabel: stream.label,
      StreamStatus: ended ? 'DISABLED' : 'ENABLED',
      StreamViewType: stream.view,
      TableName: stream.tableName,
      KeySchema: stream.keySchema,
      Shards: input.ExclusiveStartShardId === SHARD_ID ? [] : [shard],
    },
  };
}

/** Where a reader is: after `sequence` of the stream. */
interface Position {
  readonly arn: string;
  readonly sequence: number;
  readonly issuedAt: number;
}

function encode(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64');
}

function decode(iterator: unknown): Position {
  try {
    const position = JSON.parse(Buffer.from(String(iterator), 'base64').toString());
    if (typeof position.arn === 'string' && Number.isSafeInteger(position.sequence)) {
      return position;
    }
  } catch {
    // Answered below.
  }
  throw validationError('Invalid ShardIterator');
}

function trimmed(): AwsError {
  return new AwsError(
    'TrimmedDataAccessException',
    'The operation attempted to read past the oldest stream record in a shard',
  );
}

function getShardIterator(context: DynamoContext, input: Input): object {
  const stream = streamOf(context, input.StreamArn);
  if (input.ShardId !== SHARD_ID) {
    throw new AwsError(
      'ResourceNotFoundException',
      `Requested resource not found: Shard: ${input.ShardId} in Stream: ${stream.arn} not found`,
    );
  }
  const sequence = startingSequence(context, stream, input);
  if (sequence < stream.trimmedTo) throw trimmed();
  return { ShardIterator: encode({ arn: stream.arn, sequence, issuedAt: context.now() }) };
}

function startingSequence(context: DynamoContext, stream: Stream, input: Input): number {
  const { ShardIteratorType: type, SequenceNumber } = input;
  switch (type) {
    case 'TRIM_HORIZON':
      return stream.trimmedTo;
    case 'LATEST':
      return context.streams.lastSequence(stream);
    case 'AT_SEQUENCE_NUMBER':
    case 'AFTER_SEQUENCE_NUMBER': {
      const sequence = sequenceOf(String(SequenceNumber));
      if (sequence === undefined) throw validationError('Invalid SequenceNumber');
      return type === 'AT_SEQUENCE_NUMBER' ? sequence - 1 : sequence;
    }
    default:
      throw validationError(`Invalid ShardIteratorType: ${type}`);
  }
}

function getRecords(context: DynamoContext, input: Input): object {
  const position = decode(input.ShardIterator);
  if (context.now() - position.issuedAt > ITERATOR_LIFETIME_MS) {
    throw new AwsError('ExpiredIteratorException', 'The shard iterator has expired');
  }
  const limit = input.Limit ?? MAX_RECORDS;
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_RECORDS) {
    throw validationError(
      `1 validation error detected: Value '${limit}' at 'limit' failed to satisfy constraint: Member must have value between 1 and ${MAX_RECORDS}`,
    );
  }
  const stream = streamOf(context, position.arn);
  if (position.sequence < stream.trimmedTo) throw trimmed();
  const page = readPage(context, position, limit);
  const { sequence } = page;
  const over = stream.endedAt !== undefined && sequence >= context.streams.lastSequence(stream);
  const next = encode({ arn: stream.arn, sequence, issuedAt: context.now() });
  return { Records: page.records, ...(!over && { NextShardIterator: next }) };
}

/** Ends at the limit or where the answer would pass 1 MB; one record always fits. */
function readPage(
  context: DynamoContext,
  position: Position,
  limit: number,
): { records: unknown[]; sequence: number } {
  const records: unknown[] = [];
  let { sequence } = position;
  let bytes = 0;
  for (const record of context.streams.recordsAfter(position.arn, sequence, limit)) {
    bytes += record.bytes;
    if (records.length > 0 && bytes > MAX_ANSWER_BYTES) break;
    records.push(record.record);
    sequence = record.sequence;
  }
  return { records, sequence };
}
