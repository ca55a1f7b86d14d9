import type { Clock } from '#shared/kit/clock.ts';
import type { Table } from '#shared/table/index.ts';
import { appendPage, logEnd } from './dynamo-append-page.ts';
import {
  claimByHost,
  claimForLaunch,
  moveTimer,
  recordTask,
  renewLease,
} from './dynamo-claim-run.ts';
import { createRun } from './dynamo-create-run.ts';
import { finishRun, readEnding, requestCancel, requeueRun } from './dynamo-end-run.ts';
import { dueTimers } from './dynamo-read-due.ts';
import {
  dueRuns,
  listRuns,
  readAttempts,
  readHead,
  readPages,
  readSnapshot,
  readSpecification,
} from './dynamo-read-run.ts';
import type { RunLedger } from './run-ledger.ts';

/** The ledger on the platform's one DynamoDB table. */
export function openDynamoRunLedger(table: Table, clock: Clock): RunLedger {
  return {
    createRun: (input) => createRun(table, input, Math.floor(clock.now() / 1000)),
    readHead: (ref) => readHead(table, ref),
    readSpecification: (ref) => readSpecification(table, ref),
    readSnapshot: (ref, epoch) => readSnapshot(table, ref, epoch),
    readAttempts: (ref) => readAttempts(table, ref),
    listRuns: (tenantId, options) => listRuns(table, tenantId, options),
    claimForLaunch: (input) => claimForLaunch(table, input),
    recordTask: (ref, epoch, taskArn) => recordTask(table, ref, epoch, taskArn),
    claimByHost: (input) => claimByHost(table, input),
    renewLease: (ref, epoch, leaseExpiresAt) => renewLease(table, ref, epoch, leaseExpiresAt),
    requestCancel: (input) => requestCancel(table, input),
    finishRun: (input) => finishRun(table, input),
    requeueRun: (input) => requeueRun(table, input),
    logEnd: (ref) => logEnd(table, ref),
    appendPage: (input) => appendPage(table, input),
    readPages: (ref, afterIndex, limit) => readPages(table, ref, afterIndex, limit),
    readEnding: (ref, finalPage) => readEnding(table, ref, finalPage),
    dueRuns: (shard, now, limit) => dueRuns(table, shard, now, limit),
    dueTimers: (shard, now, options) => dueTimers(table, shard, now, options),
    moveTimer: (ref, seenDueAt, dueAt) => moveTimer(table, ref, seenDueAt, dueAt),
  };
}
