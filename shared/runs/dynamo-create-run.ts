import { z } from 'zod';
import { type Item, itemBytes, type Table } from '#shared/table/index.ts';
import {
  fromHeadItem,
  fromPageItem,
  headKey,
  notYetPut,
  packedSchema,
  pageKey,
  parseItem,
  toHeadItem,
  toPageItem,
} from './dynamo-run-item.ts';
import { LOG_START, type LogPage } from './log-page.ts';
import { packJson, unpackJson } from './packed-json.ts';
import { type RunHead, type RunRef, runHeadSchema } from './run-head.ts';
import type { CreateOutcome, RunLedger, RunSpecification } from './run-ledger.ts';

type CreateInput = Parameters<RunLedger['createRun']>[0];

/**
 * See {@link RunLedger.createRun}. Two puts, in this order:
 *
 *     page 1 put              the request is known; a crash here leaves a page that nobody reads
 *     page 1 was there        other body: conflict; same body: go on with the head that page 1 tells of
 *     head put                it is a run
 *     head was there          answer it
 *
 * Whoever comes second makes the same head as the first would have, so it does not matter whose put lands.
 */
export async function createRun(table: Table, input: CreateInput): Promise<CreateOutcome> {
  const first = await putFirstPage(table, input);
  if (first.bodyHash !== input.bodyHash) return { outcome: 'idempotency_conflict' };
  return {
    // The trace id is new with each request: the page says whose run this is, also when its answer was lost (B95).
    outcome: first.head.traceId === input.head.traceId ? 'created' : 'replayed',
    head: await placeHead(table, first.head),
  };
}

/** Whoever puts it, it is the same head; when no answer comes, it is enough that one is there. */
async function placeHead(table: Table, head: RunHead): Promise<RunHead> {
  try {
    const placed = await table.put(toHeadItem(head), notYetPut);
    return placed.applied ? head : await existingHead(table, head, placed.existing);
  } catch (error) {
    const item = await table.get(headKey(head), { consistent: true }).catch(() => undefined);
    if (item) return fromHeadItem(item);
    throw error;
  }
}

interface Creation {
  readonly bodyHash: string;
  readonly head: RunHead;
}

async function putFirstPage(table: Table, input: CreateInput): Promise<Creation> {
  const { head, bodyHash } = input;
  const outcome = await table.put(firstPageItem(input), notYetPut);
  if (outcome.applied) return { bodyHash, head };
  const existing =
    outcome.existing ?? (await table.get(pageKey(head, LOG_START.nextIndex), { consistent: true }));
  if (!existing) throw new TypeError('a first page refused the slot and is not there');
  return readCreation(head, existing);
}

/** What never changes of a head that was just made; the rest follows. */
const acceptedSchema = runHeadSchema.pick({
  engine: true,
  agentId: true,
  conversationId: true,
  maxAttempts: true,
  repeatable: true,
  deadlineAt: true,
  createdAt: true,
  dueAt: true,
});

const specificationSchema = z.object({
  input: z.object({ prompt: z.string() }),
  config: z.json(),
  budget: z.object({
    totalTokens: z.number().optional(),
    toolCalls: z.number().optional(),
    outputBytes: z.number().optional(),
  }),
  denied: z.array(z.string()),
});

const creationSchema = z.object({
  bodyHash: z.string(),
  accepted: acceptedSchema,
  specification: specificationSchema,
});

function firstPageItem({ head, specification, events, bodyHash }: CreateInput): Item {
  const page: LogPage = {
    index: LOG_START.nextIndex,
    kind: 'events',
    epoch: 0,
    producer: 'platform',
    producerFirst: 0,
    first: LOG_START.nextSequence,
    events,
    traceId: head.traceId,
  };
  const creation = { bodyHash, accepted: acceptedSchema.parse(head), specification };
  const besides = itemBytes(toPageItem(head, page, { creation: '' }));
  return toPageItem(head, page, { creation: packJson(creation, besides) });
}

function parseCreation(page: Item) {
  const { creation } = parseItem(z.object({ creation: packedSchema }), page);
  return parseItem(creationSchema, unpackJson(creation));
}

function readCreation(ref: RunRef, page: Item): Creation {
  const { bodyHash, accepted } = parseCreation(page);
  return {
    bodyHash,
    head: {
      tenantId: ref.tenantId,
      runId: ref.runId,
      status: 'queued',
      attempt: 0,
      epoch: 0,
      usage: {},
      traceId: fromPageItem(page).traceId,
      ...accepted,
    },
  };
}

async function existingHead(
  table: Table,
  ref: RunRef,
  refused: Item | undefined,
): Promise<RunHead> {
  const item = refused ?? (await table.get(headKey(ref), { consistent: true }));
  if (!item) throw new TypeError('a head refused its place and is not there');
  return fromHeadItem(item);
}

/** See {@link RunLedger.readSpecification}. */
export async function readSpecification(
  table: Table,
  ref: RunRef,
): Promise<RunSpecification | undefined> {
  const page = await table.get(pageKey(ref, LOG_START.nextIndex), { consistent: true });
  return page && parseCreation(page).specification;
}
