import { z } from 'zod';
import { PRIORITIES } from '#shared/contracts/index.ts';
import { absent, all, equals, type Key, startsWith, type Table } from '#shared/table/index.ts';
import { WAIT_LIST_PREFIX } from '#shared/topology/index.ts';
import { turnOf, type Waiter, type WaitList } from './wait-list.ts';

const PREFIX = 'WAIT#';
const partition = (tenantId: string) => `${WAIT_LIST_PREFIX}${tenantId}`;
const keyOf = (waiter: Waiter): Key => ({
  pk: partition(waiter.tenantId),
  sk: `${PREFIX}${turnOf(waiter)}`,
});

const itemSchema = z.object({
  tenantId: z.string(),
  runId: z.string(),
  priority: z.enum(PRIORITIES),
  createdAt: z.string(),
  deadlineAt: z.string(),
});

/** The wait lists of all tenants, on the platform's one table: one write unit to join and one to leave. */
export function openDynamoWaitList(table: Table): WaitList {
  return {
    async join(waiter) {
      const { tenantId, runId, priority, createdAt, deadlineAt } = waiter;
      const item = {
        ...keyOf(waiter),
        ...{ kind: 'waiter', tenantId, runId, priority, createdAt, deadlineAt },
        // Garbage only: of a run that ended while nobody's turn came.
        expiresAt: Math.ceil(Date.parse(deadlineAt) / 1000),
      };
      return (await table.put(item, absent('pk'))).applied;
    },
    leave: (waiter) => table.delete(keyOf(waiter)),
    async first(tenantId) {
      const { items } = await table.query({
        keys: all(equals('pk', partition(tenantId)), startsWith('sk', PREFIX)),
        limit: 1,
        consistent: true,
      });
      return items[0] && itemSchema.parse(items[0]);
    },
  };
}
