import type { AwsJsonService } from '../kit/aws-endpoint.ts';
import type { StateDatabase } from '../kit/state-database.ts';
import { committer } from './commit.ts';
import type { DynamoContext, Operations } from './context.ts';
import { loadDynalite } from './dynalite.ts';
import { openExpiry } from './expiry.ts';
import { readOperations } from './reads.ts';
import { openStorage } from './storage.ts';
import { streamOperations } from './stream-reads.ts';
import { openStreams } from './streams.ts';
import { tableOperations } from './tables.ts';
import { tagOperations } from './tags.ts';
import { openTransactionTokens } from './transaction-tokens.ts';
import { transactionOperations } from './transactions.ts';
import { sweepExpired, ttlOperations } from './ttl.ts';
import { writeOperations } from './writes.ts';

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
 * disk, whole, before it is answered: killing the process at any moment loses nothing that was acknowledged
 * and leaves nothing half done.
 */
export async function openDynamo(options: DynamoOptions): Promise<DynamoService> {
  const context = openContext(options);
  const tokens = openTransactionTokens(options.state, context.now);
  const sweep = () => sweepExpired(context);
  const stopSweeping = repeat(options.ttlSweepMs ?? 1000, async () => {
    tokens.forgetOld();
    context.streams.forgetEnded();
    await sweep();
  });
  const operations: Operations = {
    ...tableOperations(context),
    ...tagOperations(context),
    ...readOperations(context),
    ...writeOperations(context),
    ...transactionOperations(context, tokens),
    ...ttlOperations(context),
    ...streamOperations(context),
  };
  return {
    targetPrefixes: ['DynamoDB_20120810', 'DynamoDBStreams_20120810'],
    jsonVersion: '1.0',
    operations,
    sweepExpired: sweep,
    close: stopSweeping,
  };
}

function openContext(options: DynamoOptions): DynamoContext {
  const { state, region = 'us-east-1', accountId = '000000000000', now = Date.now } = options;
  const dynalite = loadDynalite();
  const storage = openStorage(state);
  const streams = openStreams({
    database: state,
    retention: options.streamRetention ?? 10_000,
    region,
    now,
  });
  const expiry = openExpiry(state, storage);
  const commit = committer({ db: dynalite.db, storage, streams, expiry });
  return { dynalite, storage, streams, expiry, commit, region, accountId, now };
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
