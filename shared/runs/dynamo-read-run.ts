import { z } from 'zod';
import {
  engineTripleSchema,
  executionErrorSchema,
  executionRequestSchema,
  PlatformError,
  runStatusSchema,
} from '#shared/contracts/index.ts';
import { all, between, equals, type Item, startsWith, type Table } from '#shared/table/index.ts';
import { TABLE_SHAPE } from '#shared/topology/index.ts';
import {
  ATTEMPT_PREFIX,
  attemptKey,
  duePartition,
  fromHeadItem,
  fromPageItem,
  headKey,
  pageKey,
  parseItem,
  snapshotKey,
  specificationKey,
  tenantPartition,
} from './dynamo-run-item.ts';
import type { LogPage } from './log-page.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type {
  AttemptRecord,
  AttemptSnapshot,
  ListedRun,
  RunLedger,
  RunSpecification,
} from './run-ledger.ts';

export async function readHead(table: Table, ref: RunRef): Promise<RunHead | undefined> {
  const item = await table.get(headKey(ref), { consistent: true });
  return item && fromHeadItem(item);
}

const specificationItemSchema = z.object({
  input: z.object({ prompt: z.string() }),
  config: z.json(),
  budget: z.object({
    totalTokens: z.number().optional(),
    toolCalls: z.number().optional(),
    outputBytes: z.number().optional(),
  }),
  denied: z.array(z.string()),
});

export async function readSpecification(
  table: Table,
  ref: RunRef,
): Promise<RunSpecification | undefined> {
  const item = await table.get(specificationKey(ref), { consistent: true });
  return item && parseItem(specificationItemSchema, item);
}

const snapshotItemSchema = z.object({
  request: executionRequestSchema,
  policyVersion: z.string(),
  credentialNames: z.array(z.string()),
});

export async function readSnapshot(
  table: Table,
  ref: RunRef,
  epoch: number,
): Promise<AttemptSnapshot | undefined> {
  const item = await table.get(snapshotKey(ref, epoch), { consistent: true });
  return item && parseItem(snapshotItemSchema, item);
}

const attemptItemSchema = z.object({
  attempt: z.number(),
  epoch: z.number(),
  claimedAt: z.string(),
  endedAt: z.string().optional(),
  outcome: z.string().optional(),
  error: executionErrorSchema.optional(),
});

export async function readAttempts(table: Table, ref: RunRef): Promise<AttemptRecord[]> {
  const { items } = await table.query({
    keys: all(equals('pk', attemptKey(ref, 0).pk), startsWith('sk', ATTEMPT_PREFIX)),
    limit: 100,
    consistent: true,
  });
  return items.map((item) => parseItem(attemptItemSchema, item));
}

const listedItemSchema = z.object({
  tenantId: z.string(),
  runId: z.string(),
  status: runStatusSchema,
  engine: engineTripleSchema,
  attempt: z.number(),
  createdAt: z.string(),
  startedAt: z.string().optional(),
  endedAt: z.string().optional(),
});

/** A filtered list reads on until its page is full or this many items were looked at. */
const MAX_READ_FOR_FILTER = 500;

export async function listRuns(
  table: Table,
  tenantId: string,
  options: Parameters<RunLedger['listRuns']>[1],
): Promise<{ heads: ListedRun[]; nextCursor: string | undefined }> {
  const heads: ListedRun[] = [];
  let startAfter =
    options.cursor === undefined ? undefined : decodeCursor(options.cursor, tenantId);
  let read = 0;
  do {
    const page = await table.query({
      index: TABLE_SHAPE.indexes.runsByTenant.name,
      keys: equals('tenantPk', tenantPartition(tenantId)),
      limit: options.limit - heads.length,
      descending: true,
      startAfter,
    });
    read += page.items.length;
    heads.push(
      ...page.items
        .map(toListedRun)
        .filter(({ status }) => !options.status || status === options.status),
    );
    startAfter = page.lastKey;
  } while (startAfter && heads.length < options.limit && read < MAX_READ_FOR_FILTER);
  return { heads, nextCursor: startAfter && encodeCursor(startAfter) };
}

function toListedRun(item: Item): ListedRun {
  const { engineId, protocolId, adapterVersion } = item;
  return parseItem(listedItemSchema, { ...item, engine: { engineId, protocolId, adapterVersion } });
}

const cursorSchema = z.tuple([z.string(), z.string(), z.string(), z.string()]);

function encodeCursor(key: Item): string {
  return Buffer.from(JSON.stringify([key.pk, key.sk, key.tenantPk, key.createdSk])).toString(
    'base64url',
  );
}

/** A cursor of another tenant, or one that was made up, is refused: it never becomes a key. */
function decodeCursor(cursor: string, tenantId: string): Item {
  try {
    const [pk, sk, tenantPk, createdSk] = cursorSchema.parse(
      JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')),
    );
    if (tenantPk === tenantPartition(tenantId) && pk.startsWith(`RUN#${tenantId}#`)) {
      return { pk, sk, tenantPk, createdSk };
    }
  } catch {
    // told below, alike for every kind of wrong cursor
  }
  throw new PlatformError('invalid_cursor', 'this cursor does not belong to this list', {
    field: 'cursor',
    remedy: 'use the nextCursor of the page before, unchanged',
  });
}

export async function readPages(
  table: Table,
  ref: RunRef,
  afterIndex: number,
  limit: number,
): Promise<LogPage[]> {
  const { items } = await table.query({
    keys: all(
      equals('pk', pageKey(ref, 0).pk),
      between('sk', pageKey(ref, afterIndex + 1).sk, pageKey(ref, 99_999_999).sk),
    ),
    limit,
    consistent: true,
  });
  return items.map(fromPageItem);
}

const dueItemSchema = z.object({ tenantId: z.string(), runId: z.string() });

export async function dueRuns(
  table: Table,
  shard: number,
  now: string,
  limit: number,
): Promise<RunRef[]> {
  const { items } = await table.query({
    index: TABLE_SHAPE.indexes.due.name,
    keys: all(equals('duePk', duePartition(shard)), between('dueAt', '0', now)),
    limit,
  });
  return items.map((item) => parseItem(dueItemSchema, item));
}
