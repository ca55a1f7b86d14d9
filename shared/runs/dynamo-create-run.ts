import { z } from 'zod';
import { equals, type Table, type TransactionPart } from '#shared/table/index.ts';
import {
  fromHeadItem,
  headKey,
  idempotencyKey,
  notYetPut,
  parseItem,
  specificationKey,
  toHeadItem,
  toPageItem,
} from './dynamo-run-item.ts';
import { LOG_START } from './log-page.ts';
import type { CreateOutcome, RunLedger } from './run-ledger.ts';

const idempotencyItemSchema = z.object({
  runId: z.string(),
  bodyHash: z.string(),
  expiresAt: z.number(),
});

/** See {@link RunLedger.createRun}. */
export async function createRun(
  table: Table,
  input: Parameters<RunLedger['createRun']>[0],
  nowSeconds: number,
): Promise<CreateOutcome> {
  const { head, idempotency } = input;
  const parts: TransactionPart[] = [
    { put: toHeadItem(head), when: notYetPut },
    { put: { ...specificationKey(head), kind: 'specification', ...input.specification } },
    {
      put: toPageItem(head, {
        index: LOG_START.nextIndex,
        kind: 'events',
        epoch: 0,
        producer: 'platform',
        producerFirst: 0,
        first: LOG_START.nextSequence,
        events: input.events,
        traceId: head.traceId,
      }),
    },
  ];
  if (!idempotency) {
    await table.transact(parts);
    return { outcome: 'created', head };
  }

  const key = idempotencyKey(head.tenantId, idempotency.key);
  const record = {
    ...key,
    kind: 'idempotency',
    runId: head.runId,
    bodyHash: idempotency.bodyHash,
    expiresAt: idempotency.expiresAtSeconds,
  };
  const outcome = await table.transact([...parts, { put: record, when: notYetPut }]);
  if (outcome.applied) return { outcome: 'created', head };

  const existing = outcome.refused.at(-1)?.existing ?? (await table.get(key, { consistent: true }));
  if (!existing) return { outcome: 'created', head }; // only the head was refused: our own write, sent twice
  const known = parseItem(idempotencyItemSchema, existing);
  if (known.expiresAt <= nowSeconds) {
    // Expiry in the table may lag by days, so an old record is overwritten by its own condition instead.
    const renewed = await table.transact([
      ...parts,
      { put: record, when: equals('expiresAt', known.expiresAt) },
    ]);
    if (renewed.applied) return { outcome: 'created', head };
    return createRun(table, input, nowSeconds);
  }
  if (known.bodyHash !== idempotency.bodyHash) return { outcome: 'idempotency_conflict' };
  const first = await table.get(headKey({ tenantId: head.tenantId, runId: known.runId }), {
    consistent: true,
  });
  return first
    ? { outcome: 'replayed', head: fromHeadItem(first) }
    : { outcome: 'idempotency_conflict' };
}
