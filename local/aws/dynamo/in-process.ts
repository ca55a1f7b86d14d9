import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import type { DynamoDBRecord } from 'aws-lambda';
import { AwsError } from '../kit/aws-error.ts';
import { type Assembly, assembleDynamo } from './assemble.ts';
import { HeldIndexWrites } from './held-index-writes.ts';
import { toException, toOutput, toWire } from './in-process-wire.ts';
import { lambdaRecord } from './lambda-record.ts';
import { memoryStores } from './memory-stores.ts';
import type { Stores, Stream } from './storage.ts';
import { sequenceOf } from './stream-record.ts';

export interface InProcessOptions {
  /** Epoch milliseconds: the only clock there is, for expiry, tokens, iterators and record times. */
  readonly now: () => number;
  /**
   * Asked whenever an item's entry in a global index changes: `true` holds the change back until `propagate`. An
   * item whose earlier change is held back is not asked for, since changes of one item keep their order.
   * Default: never.
   */
  readonly indexLag?: () => boolean;
  /** How many records a stream keeps, at least. Default: all. */
  readonly streamRetention?: number;
  readonly region?: string;
  readonly accountId?: string;
}

/**
 * DynamoDB in this process: the evaluator of the embedded emulator on memory instead of SQLite, without HTTP and
 * without the SDK's client on the path. Deterministic: no clock but `now`, no randomness.
 */
export interface InProcessDynamo {
  /**
   * For what takes an SDK client. `send` takes effect before it returns; its promise resolves with the SDK's
   * output or rejects with the SDK's exception. Client configuration, middleware and retries do not exist.
   */
  readonly client: DynamoDBClient;
  /** The same for the streams API. */
  readonly streams: DynamoDBStreamsClient;
  /** Applies index changes held back, the oldest first, at most `limit`. Answers how many. */
  propagate(limit?: number): number;
  /** How many index changes are held back. */
  heldIndexWrites(): number;
  /**
   * Stream records in the form Lambda gets them, in order: at most `limit` after the record with the sequence
   * number `after` (from the beginning, if undefined). `table` may be left out when one table has a stream.
   */
  takeStreamRecords(after: string | undefined, limit: number, table?: string): DynamoDBRecord[];
  /** Deletes what Time to Live says is over at `now` (epoch milliseconds; default: the clock). Answers how many. */
  expire(now?: number): number;
  /** Forgets everything but the tables, their streams (which begin anew) and settings. */
  reset(): void;
}

/**
 * @example
 * const dynamo = openInProcessDynamo({ now: () => clock.now });
 * await makeTable(dynamo.client, 'nexusdesk');
 * const table = new Table(dynamo.client, 'nexusdesk');
 */
export function openInProcessDynamo(options: InProcessOptions): InProcessDynamo {
  let state = freshState(options);
  const send = async (command: object): Promise<object> => {
    const operation = operationOf(command);
    try {
      const run = state.assembly.operations[operation];
      if (!run) throw new AwsError('UnknownOperationException', `unknown operation ${operation}`);
      return toOutput(operation, run(toWire((command as { input: object }).input) as object));
    } catch (error) {
      throw toException(operation, error);
    }
  };
  // The SDK's clients have many members of which a caller of commands uses only these.
  const client: unknown = { send, destroy: () => undefined, config: {} };
  return {
    client: client as DynamoDBClient,
    streams: client as DynamoDBStreamsClient,
    propagate: (limit) => state.held.propagate(limit),
    heldIndexWrites: () => state.held.count,
    takeStreamRecords(after, limit, table) {
      const { arn, trimmedTo } = streamFor(state.assembly, table);
      const from = after === undefined ? trimmedTo : sequenceOf(after);
      if (from === undefined) throw new Error(`not a sequence number: ${after}`);
      const records = state.assembly.streams.recordsAfter(arn, from, limit);
      return Array.from(records, ({ record }) => lambdaRecord(record, arn));
    },
    expire(now = options.now()) {
      state.sweptAt = now;
      try {
        return Array.from(state.assembly.sweepExpired()).reduce((sum, count) => sum + count, 0);
      } finally {
        state.sweptAt = undefined;
      }
    },
    reset() {
      const before = state;
      state = freshState(options);
      for (const name of before.stores.storage.tableNames()) {
        const stored = before.stores.storage.table(name);
        if (stored) state.stores.storage.putTable(stored);
        const stream = before.assembly.streams.enabledOn(name);
        if (stored && stream) state.assembly.streams.enable(stored.table, stream.view);
      }
    },
  };
}

interface State {
  readonly stores: Stores;
  readonly assembly: Assembly;
  readonly held: HeldIndexWrites;
  /** The time of the sweep that is running. */
  sweptAt: number | undefined;
}

function freshState(options: InProcessOptions): State {
  const stores = memoryStores();
  const held = new HeldIndexWrites(options.indexLag);
  let ids = 0;
  const assembly = assembleDynamo(stores, {
    ...options,
    streamRetention: options.streamRetention ?? Number.MAX_SAFE_INTEGER,
    now: () => state.sweptAt ?? options.now(),
    newId: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
    eventId: (sequence) => sequence.toString(16).padStart(32, '0'),
    writeIndex: (item, write) => held.write(item, write),
  });
  const state: State = { stores, assembly, held, sweptAt: undefined };
  return state;
}

function operationOf(command: object): string {
  return command.constructor.name.replace(/Command$/, '');
}

function streamFor({ streams }: Assembly, table: string | undefined): Stream {
  const enabled = streams.list().filter((stream) => stream.endedAt === undefined);
  const wanted = table ? enabled.filter((stream) => stream.tableName === table) : enabled;
  const [stream, ...more] = wanted;
  if (!stream || more.length > 0) throw new Error(`no stream, or several: ${table ?? 'any table'}`);
  return stream;
}
