import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { openDynamoWaitList } from '#shared/quotas/dynamo-wait-list.ts';
import type { WaitList } from '#shared/quotas/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { Table } from '#shared/table/index.ts';

/** The table as every composition root opens it. Region and endpoint come from the SDK's own environment. */
export function openTable(tableName: string): Table {
  return new Table(new DynamoDBClient({}), tableName);
}

export function openLedger(tableName: string): RunLedger {
  return openDynamoRunLedger(openTable(tableName));
}

export function openWaitList(tableName: string): WaitList {
  return openDynamoWaitList(openTable(tableName));
}
