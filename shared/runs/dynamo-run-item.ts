import { createHash } from 'node:crypto';
import { z } from 'zod';
import {
  executionErrorSchema,
  PlatformError,
  type RunStatus,
  tripleName,
  usageSchema,
} from '#shared/contracts/index.ts';
import {
  absent,
  all,
  any,
  type Condition,
  equals,
  type Item,
  itemBytes,
  type Key,
  MAX_ITEM_BYTES,
  oneOf,
} from '#shared/table/index.ts';
import { DUE_SHARDS } from '#shared/topology/index.ts';
import { decodeEvents, encodeEvents, type LogPage, PAGE_KINDS } from './log-page.ts';
import { type RunHead, type RunRef, runHeadSchema } from './run-head.ts';
import { sourcesOf } from './run-lifecycle.ts';

// ── keys ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const partition = ({ tenantId, runId }: RunRef) => `RUN#${tenantId}#${runId}`;
const padded = (index: number) => String(index).padStart(8, '0');

export const headKey = (ref: RunRef): Key => ({ pk: partition(ref), sk: 'HEAD' });
export const snapshotKey = (ref: RunRef, epoch: number): Key => ({
  pk: partition(ref),
  sk: `SPEC#${padded(epoch)}`,
});
export const PAGE_PREFIX = 'LOG#';
export const pageKey = (ref: RunRef, index: number): Key => ({
  pk: partition(ref),
  sk: `${PAGE_PREFIX}${padded(index)}`,
});

export const duePartition = (shard: number) => `DUE#${shard}`;

export function dueShardOf(runId: string): number {
  return createHash('sha256').update(runId).digest().readUInt32BE(0) % DUE_SHARDS;
}

// ── head ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Nothing is in it twice: what the keys say is read from them, so that it stays within one write unit. */
export function toHeadItem(head: RunHead): Item {
  const { engine, dueAt, runId, createdAt, ...rest } = head;
  return {
    ...headKey(head),
    kind: 'head',
    ...rest,
    engine: tripleName(engine),
    createdSk: `${createdAt}#${runId}`,
    ...(dueAt ? { duePk: duePartition(dueShardOf(runId)), dueAt } : {}),
  };
}

const headItemSchema = z.object({ engine: z.string(), createdSk: z.string() });

export function fromHeadItem(item: Item): RunHead {
  const { engine, createdSk } = parseItem(headItemSchema, item);
  const [engineId, protocolId, adapterVersion] = engine.split('/');
  const [createdAt, runId] = createdSk.split('#');
  return parseItem(runHeadSchema, {
    ...item,
    engine: { engineId, protocolId, adapterVersion },
    createdAt,
    runId,
  });
}

/** The run whose head has this key; undefined for the key of another item. */
export function refOfHeadKey({ pk, sk }: Key): RunRef | undefined {
  const [kind, tenantId, runId, ...rest] = pk.split('#');
  if (kind !== 'RUN' || !tenantId || !runId || rest.length > 0 || sk !== 'HEAD') return undefined;
  return { tenantId, runId };
}

/** An item that does not parse was not written by this code: a fault of ours, never silently skipped. */
export function parseItem<T extends z.ZodType>(schema: T, item: unknown): z.infer<T> {
  const parsed = schema.safeParse(item);
  if (parsed.success) return parsed.data;
  throw new PlatformError('internal', 'a stored item does not fit its schema', {
    cause: parsed.error,
  });
}

// ── pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────

/** @throws PlatformError `payload_too_large` when no item can hold it (B89) */
export function toPageItem(ref: RunRef, page: LogPage, extra: Item = {}): Item {
  const { events, kind, ...rest } = page;
  const besides = {
    ...pageKey(ref, page.index),
    kind: 'page',
    tenantId: ref.tenantId,
    runId: ref.runId,
    page: kind,
    ...rest,
    count: events.length,
    ...extra,
  };
  return requireItemFits({
    ...besides,
    body: encodeEvents(events, itemBytes({ ...besides, body: '' })),
  });
}

function requireItemFits(item: Item): Item {
  const bytes = itemBytes(item);
  if (bytes <= MAX_ITEM_BYTES) return item;
  throw new PlatformError(
    'payload_too_large',
    `a record of ${bytes} bytes does not fit into the ledger; at most ${MAX_ITEM_BYTES} do`,
    { remedy: 'make it smaller, or give large material as a file the agent can read' },
  );
}

export const packedSchema = z.union([z.string(), z.instanceof(Uint8Array)]);

const pageItemSchema = z.object({
  index: z.number(),
  page: z.enum(PAGE_KINDS),
  epoch: z.number(),
  producer: z.enum(['host', 'platform']),
  producerFirst: z.number(),
  first: z.number(),
  count: z.number(),
  traceId: z.string(),
  body: packedSchema,
  attempt: z
    .object({
      attempt: z.number(),
      epoch: z.number(),
      endedAt: z.string(),
      outcome: z.string(),
      error: executionErrorSchema.optional(),
      usage: usageSchema,
    })
    .optional(),
});

export function fromPageItem(item: Item): LogPage {
  const { page, body, count: _count, ...rest } = parseItem(pageItemSchema, item);
  return { ...rest, kind: page, events: decodeEvents(body) };
}

// ── named conditions ──────────────────────────────────────────────────────────────────────────────────────────────

/** The table of transitions, as the database sees it. */
export const mayBecome = (status: RunStatus): Condition => oneOf('status', sourcesOf(status));

/** The head is exactly as the decision saw it: a write that came between makes the decision void. */
export const unchangedSince = (head: RunHead): Condition =>
  all(equals('status', head.status), equals('epoch', head.epoch));

/** The writer still belongs to the current attempt; a run that was taken away has a higher epoch. */
export const ofEpoch = (epoch: number): Condition => equals('epoch', epoch);

/** No host has claimed this epoch, or this one did: a lost reply may be asked for again, a second host is refused. */
export const unclaimedOrMine = (hostInstanceId: string): Condition =>
  any(absent('hostInstanceId'), equals('hostInstanceId', hostInstanceId));

export const notYetPut: Condition = absent('pk');
