import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isTerminal, PlatformError } from '#shared/contracts/index.ts';
import { equals, type Item, type Table } from '#shared/table/index.ts';
import { DUE_SHARDS, TABLE_SHAPE } from '#shared/topology/index.ts';
import { readHeads } from './dynamo-read-run.ts';
import { duePartition, headKey, parseItem, refOfHeadKey } from './dynamo-run-item.ts';
import type { RunHead, RunRef } from './run-head.ts';
import type { RunLedger } from './run-ledger.ts';

/** A filtered list reads on until its page is full or this many items were looked at. */
const MAX_READ_FOR_FILTER = 500;

/** See {@link RunLedger.listRuns}. */
export async function listRuns(
  table: Table,
  tenantId: string,
  options: Parameters<RunLedger['listRuns']>[1],
): Promise<{ heads: RunHead[]; nextCursor: string | undefined }> {
  const heads: RunHead[] = [];
  let startAfter =
    options.cursor === undefined ? undefined : decodeListCursor(options.cursor, tenantId);
  let read = 0;
  do {
    const page = await table.query({
      index: TABLE_SHAPE.indexes.runsByTenant.name,
      keys: equals('tenantId', tenantId),
      limit: options.limit - heads.length,
      descending: true,
      startAfter,
    });
    read += page.items.length;
    const found = await readHeads(
      table,
      page.items.map(({ createdSk }) => ({ tenantId, runId: runIdOf(createdSk) })),
    );
    heads.push(...found.filter(({ status }) => !options.status || status === options.status));
    startAfter = page.lastKey;
  } while (startAfter && heads.length < options.limit && read < MAX_READ_FOR_FILTER);
  return { heads, nextCursor: startAfter && encodeCursor(tenantId, [startAfter.createdSk]) };
}

/** `createdAt#runId` */
function runIdOf(createdSk: unknown): string {
  return String(createdSk).split('#')[1] ?? '';
}

/** The cursor holds no keys: the tenant in them is always that of the caller. */
function decodeListCursor(cursor: string, tenantId: string): Item {
  const [createdSk] = decodeCursor(z.tuple([createdSkSchema]), tenantId, cursor);
  return {
    ...headKey({ tenantId, runId: runIdOf(createdSk) }),
    tenantId,
    createdSk,
  };
}

const createdSkSchema = z.string().regex(/^[0-9TZ:.-]{24}#run_[0-9A-Z]{26}$/);

/** Entries of all tenants are read and dropped on the way: most that one request takes. */
const DUE_PAGE = 1_000;

const dueItemSchema = z.object({ pk: z.string(), sk: z.string(), dueAt: z.string() });
const liveCursorSchema = z.tuple([
  z.number().int().min(0).max(DUE_SHARDS),
  z.string().max(30),
  z.string().regex(/^(run_[0-9A-Z]{26})?$/),
]);

/** See {@link RunLedger.liveRuns}. The due index holds exactly the runs that have not ended. */
export async function liveRuns(
  table: Table,
  tenantId: string,
  options: Parameters<RunLedger['liveRuns']>[1],
): Promise<{ heads: RunHead[]; nextCursor: string | undefined }> {
  const [from, dueAt, runId] =
    options.cursor === undefined
      ? [0, '', '']
      : decodeCursor(liveCursorSchema, tenantId, options.cursor);
  const entries: (RunRef & { dueAt: string })[] = [];
  let nextCursor: string | undefined;
  for (let shard = from; shard < DUE_SHARDS && nextCursor === undefined; shard += 1) {
    let startAfter =
      shard === from && runId ? dueKey(shard, { tenantId, runId, dueAt }) : undefined;
    do {
      const page = await table.query({
        index: TABLE_SHAPE.indexes.due.name,
        keys: equals('duePk', duePartition(shard)),
        filter: equals('tenantId', tenantId),
        limit: DUE_PAGE,
        startAfter,
      });
      const found = page.items.flatMap((item) => {
        const { dueAt: due, ...key } = parseItem(dueItemSchema, item);
        const ref = refOfHeadKey(key);
        return ref ? [{ ...ref, dueAt: due }] : [];
      });
      entries.push(...found.slice(0, options.limit - entries.length));
      const last = entries.at(-1);
      // The last one that is answered is a run of this tenant: a cursor never names another's.
      if (last && entries.length >= options.limit) {
        nextCursor = encodeCursor(tenantId, [shard, last.dueAt, last.runId]);
        break;
      }
      startAfter = page.lastKey;
    } while (startAfter);
  }
  const heads = await readHeads(table, entries);
  return { heads: heads.filter(({ status }) => !isTerminal(status)), nextCursor };
}

function dueKey(shard: number, entry: RunRef & { dueAt: string }): Item {
  return { ...headKey(entry), duePk: duePartition(shard), dueAt: entry.dueAt };
}

function encodeCursor(tenantId: string, place: readonly unknown[]): string {
  return Buffer.from(JSON.stringify([ownerOf(tenantId), place])).toString('base64url');
}

/** A cursor of another tenant, or one that was made up, is refused: nothing of it becomes a key unchecked. */
function decodeCursor<T extends z.ZodType>(
  schema: T,
  tenantId: string,
  cursor: string,
): z.infer<T> {
  try {
    const json: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    const [, place] = z.tuple([z.literal(ownerOf(tenantId)), z.unknown()]).parse(json);
    return schema.parse(place);
  } catch (cause) {
    throw new PlatformError('invalid_cursor', 'this cursor does not belong to this list', {
      field: 'cursor',
      remedy: 'use the nextCursor of the page before, unchanged',
      cause,
    });
  }
}

/** Enough to tell tenants apart, and no name of one. */
function ownerOf(tenantId: string): string {
  return createHash('sha256').update(`list-cursor#${tenantId}`).digest('base64url').slice(0, 8);
}
