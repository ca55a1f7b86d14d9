import type { DynamoContext, Input, Operations } from './context.ts';
import { validationError } from './dynamo-error.ts';
import { primaryKeyOf, type UserIdentity } from './model.ts';
import { changeTables, stored } from './tables.ts';
import { writeItem } from './writes.ts';

/** Who a stream record names for an item that Time to Live deleted. */
const TTL_PROCESS: UserIdentity = { Type: 'Service', PrincipalId: 'dynamodb.amazonaws.com' };
const SWEEP_BATCH = 25;

/** Time to Live settings. */
export function ttlOperations(context: DynamoContext): Operations {
  return {
    UpdateTimeToLive: (input) => updateTimeToLive(context, input),
    DescribeTimeToLive: (input) => {
      const { ttlAttribute } = stored(context, input.TableName);
      return {
        TimeToLiveDescription: ttlAttribute
          ? { TimeToLiveStatus: 'ENABLED', AttributeName: ttlAttribute }
          : { TimeToLiveStatus: 'DISABLED' },
      };
    },
  };
}

function updateTimeToLive(context: DynamoContext, input: Input): object {
  const before = stored(context, input.TableName);
  const { Enabled, AttributeName } = input.TimeToLiveSpecification ?? {};
  if (typeof Enabled !== 'boolean' || typeof AttributeName !== 'string' || AttributeName === '') {
    throw validationError(
      "1 validation error detected: Value at 'timeToLiveSpecification' failed to satisfy constraint: Enabled and AttributeName must not be null",
    );
  }
  const current = before.ttlAttribute;
  if (Enabled && current === AttributeName) {
    throw validationError('TimeToLive is already enabled');
  }
  if (!Enabled && current === undefined) throw validationError('TimeToLive is already disabled');
  if (current !== undefined && current !== AttributeName) {
    throw validationError(
      `TimeToLive is active on a different AttributeName: current AttributeName is ${current}`,
    );
  }
  const table = before.table.TableName;
  changeTables(context, () => {
    context.storage.putTable({ ...before, ttlAttribute: Enabled ? AttributeName : undefined });
    if (Enabled) context.expiry.index(table, AttributeName);
    else context.expiry.forget(table);
  });
  return { TimeToLiveSpecification: { Enabled, AttributeName } };
}

/**
 * Deletes the items that have expired by now, each with its own stream record. Yields after every few, when
 * requests may come in between, how many those were.
 */
export function* sweepExpired(context: DynamoContext): Generator<number> {
  for (const name of context.storage.tableNames()) {
    for (;;) {
      const now = Math.floor(context.now() / 1000);
      const items = context.expiry.expired(name, now, SWEEP_BATCH);
      for (const item of items) {
        const Key = primaryKeyOf(stored(context, name).table, item);
        writeItem(context, 'DeleteItem', { TableName: name, Key }, TTL_PROCESS);
      }
      if (items.length > 0) yield items.length;
      if (items.length < SWEEP_BATCH) break;
    }
  }
}
