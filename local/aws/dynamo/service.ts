import { randomUUID } from 'node:crypto';
import type { AwsJsonService } from '../kit/aws-endpoint.ts';
import type { StateDatabase } from '../kit/state-database.ts';
import { type Assembly, assembleDynamo } from './assemble.ts';
import type { Input, Operations } from './context.ts';
import { type GroupCommit, openGroupCommit } from './group-commit.ts';
import { sqliteStores } from './sqlite-stores.ts';

export interface DynamoOptions {
  /** Holds everything: tables, items, indexes, streams, settings. Only this process may write it meanwhile. */
  readonly state: StateDatabase;
  /** How often expired items are deleted; 0 leaves it to `sweepExpired`. Default: every second. */
  readonly ttlSweepMs?: number;
  /** How many records a stream keeps, at least; AWS keeps those of a day. Default: 10,000. */
  readonly streamRetention?: number;
  readonly region?: string;
  readonly accountId?: string;
  /** Epoch milliseconds, for expiry, tokens, iterators and record times. Default: `Date.now`. */
  readonly now?: () => number;
}

export interface DynamoService extends AwsJsonService {
  /** Deletes what Time to Live says is over, now. Answers how many items. */
  sweepExpired(): Promise<number>;
}

/**
 * DynamoDB and its streams. Requests take effect one after the other, each at one instant, and a write is on
 * disk, whole, before it is answered (those that arrive together are committed together): killing the process at any moment loses nothing that was acknowledged
 * and leaves nothing half done.
 */
export async function openDynamo(options: DynamoOptions): Promise<DynamoService> {
  const { state, ttlSweepMs = 1000, now = Date.now, ...rest } = options;
  // Node keeps randomness for UUIDs in stock.
  const eventId = () => randomUUID().replaceAll('-', '');
  const stores = sqliteStores(state);
  const assembly = assembleDynamo(stores, { ...rest, now, newId: randomUUID, eventId });
  const group = openGroupCommit(stores.storage, assembly.reload);
  const stopSweeping = repeat(ttlSweepMs, async () => {
    assembly.forgetOld();
    await sweep(assembly);
  });
  return {
    targetPrefixes: ['DynamoDB_20120810', 'DynamoDBStreams_20120810'],
    jsonVersion: '1.0',
    operations: { ...assembly.operations, ...grouped(assembly.operations, group) },
    sweepExpired: () => sweep(assembly),
    async close() {
      await stopSweeping();
      group.flush();
    },
  };
}

const WRITES = ['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems'];

function grouped(operations: Operations, group: GroupCommit): Operations {
  return Object.fromEntries(
    WRITES.map((name) => [name, (input: Input) => group.write(() => operations[name]?.(input))]),
  );
}

/** Gives way to requests after every few items. */
async function sweep(assembly: Assembly): Promise<number> {
  let deleted = 0;
  for (const count of assembly.sweepExpired()) {
    deleted += count;
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  return deleted;
}

/** Runs `work` again and again, `everyMs` after it last ended. Returns what stops it and waits for its end. */
function repeat(everyMs: number, work: () => Promise<unknown>): () => Promise<void> {
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  const schedule = () => {
    timer = setTimeout(() => {
      running = run();
    }, everyMs);
    timer.unref();
  };
  const run = async () => {
    try {
      await work();
    } catch (error) {
      console.error('local DynamoDB: a sweep failed:', error);
    }
    if (timer) schedule();
  };
  if (everyMs > 0) schedule();
  return async () => {
    clearTimeout(timer);
    timer = undefined;
    await running;
  };
}
