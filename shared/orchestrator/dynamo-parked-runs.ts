import { z } from 'zod';
import type { Clock } from '#shared/kit/clock.ts';
import { parseItem } from '#shared/runs/dynamo-run-item.ts';
import type { RunRef } from '#shared/runs/index.ts';
import {
  absent,
  all,
  any,
  below,
  equals,
  type Item,
  type Key,
  startsWith,
  type Table,
} from '#shared/table/index.ts';
import type { ParkedRun, ParkedRuns } from './parked-runs.ts';

const PARTITION = 'OUTBOX';
const PREFIX = 'PARKED#';
/** A released record is garbage; it stays for a while so that people can see what happened. */
const KEPT_SECONDS = 24 * 3600;
const PAGE_SIZE = 1_000;

const keyOf = (ref: RunRef): Key => ({
  pk: PARTITION,
  sk: `${PREFIX}${ref.tenantId}#${ref.runId}`,
});

const itemSchema = z.object({
  tenantId: z.string(),
  runId: z.string(),
  fromPage: z.number(),
  throughPage: z.number(),
  code: z.string(),
  parkedAt: z.string(),
  state: z.enum(['parked', 'released']),
});

const isParked = equals('state', 'parked');
const isNotParked = any(absent('pk'), equals('state', 'released'));

/** All in one partition: it is empty, or people are about to look at it. One read unit for each batch of the relay. */
export function openDynamoParkedRuns(table: Table, clock: Clock): ParkedRuns {
  const runs: ParkedRuns = {
    async list() {
      const items: Item[] = [];
      let startAfter: Item | undefined;
      do {
        const page = await table.query({
          keys: all(equals('pk', PARTITION), startsWith('sk', PREFIX)),
          limit: PAGE_SIZE,
          consistent: true,
          startAfter,
        });
        items.push(...page.items);
        startAfter = page.lastKey;
      } while (startAfter);
      return items.flatMap((item) => fromItem(item) ?? []);
    },

    async park({ ref, fromPage, throughPage, code, parkedAt }) {
      const { tenantId, runId } = ref;
      const put = await table.put(
        {
          ...keyOf(ref),
          kind: 'parked_run',
          state: 'parked',
          ...{ tenantId, runId, fromPage, throughPage, code, parkedAt },
        },
        isNotParked,
      );
      if (!put.applied) await runs.hold(ref, throughPage);
    },

    async hold(ref, page) {
      const raised = await table.update(
        keyOf(ref),
        { set: { throughPage: page } },
        all(isParked, below('throughPage', page)),
      );
      if (raised.applied) return 'held';
      return raised.existing?.state === 'parked' ? 'held' : 'released';
    },

    async advance(ref, fromPage) {
      await table.update(
        keyOf(ref),
        { set: { fromPage } },
        all(isParked, below('fromPage', fromPage)),
      );
    },

    async release(ref, throughPage) {
      const expiresAt = Math.floor(clock.now() / 1000) + KEPT_SECONDS;
      const released = await table.update(
        keyOf(ref),
        { set: { state: 'released', expiresAt } },
        all(isParked, below('throughPage', throughPage + 1)),
      );
      return released.applied || released.existing?.state !== 'parked' ? 'released' : 'held_more';
    },
  };
  return runs;
}

function fromItem(item: Item): ParkedRun | undefined {
  const { tenantId, runId, state, ...rest } = parseItem(itemSchema, item);
  return state === 'parked' ? { ref: { tenantId, runId }, ...rest } : undefined;
}
