import { committer, type IndexWriter } from './commit.ts';
import type { DynamoContext, Operations } from './context.ts';
import { loadDynalite } from './dynalite.ts';
import { openExpiry } from './expiry.ts';
import { readOperations } from './reads.ts';
import type { Stores } from './storage.ts';
import { streamOperations } from './stream-reads.ts';
import { openStreams, type Streams } from './streams.ts';
import { tableOperations } from './tables.ts';
import { tagOperations } from './tags.ts';
import { openTransactionTokens } from './transaction-tokens.ts';
import { transactionOperations } from './transactions.ts';
import { sweepExpired, ttlOperations } from './ttl.ts';
import { writeOperations } from './writes.ts';

export interface AssemblyOptions {
  /** How many records a stream keeps, at least; AWS keeps those of a day. Default: 10,000. */
  readonly streamRetention?: number | undefined;
  readonly region?: string | undefined;
  readonly accountId?: string | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly newId: () => string;
  readonly eventId: (sequence: number) => string;
  /** Default: within the commit. */
  readonly writeIndex?: IndexWriter;
}

/** DynamoDB on some storage: its operations on wire-form input, each synchronous, and its housekeeping. */
export interface Assembly {
  readonly operations: Operations;
  readonly streams: Streams;
  /** Deletes what Time to Live says is over. Answers how many items, after every few: what is left to wait for. */
  sweepExpired(): Generator<number>;
  /** Forgets old tokens and streams. */
  forgetOld(): void;
  /** Reads again what is kept in memory, after a transaction failed as a whole. */
  reload(): void;
}

export function assembleDynamo(stores: Stores, options: AssemblyOptions): Assembly {
  const { now, newId, eventId, writeIndex = (_item, write) => write() } = options;
  const { region = 'us-east-1', accountId = '000000000000' } = options;
  const { storage } = stores;
  const dynalite = loadDynalite();
  const retention = options.streamRetention ?? 10_000;
  const streams = openStreams({ store: stores.streams, retention, region, now, eventId });
  const expiry = openExpiry(stores.expiry, storage, dynalite.db);
  const commit = committer({ db: dynalite.db, storage, streams, expiry, writeIndex });
  const tokens = openTransactionTokens(stores.tokens, now);
  const own = { dynalite, storage, streams, expiry, commit };
  const context: DynamoContext = { ...own, region, accountId, now, newId };
  return {
    streams,
    operations: {
      ...tableOperations(context),
      ...tagOperations(context),
      ...readOperations(context),
      ...writeOperations(context),
      ...transactionOperations(context, tokens),
      ...ttlOperations(context),
      ...streamOperations(context),
    },
    sweepExpired: () => sweepExpired(context),
    forgetOld() {
      tokens.forgetOld();
      streams.forgetEnded();
    },
    reload() {
      storage.reload();
      streams.reload();
    },
  };
}
