import type { Table } from '#shared/table/index.ts';
import { appendPage, logEnd } from './dynamo-append-page.ts';
import {
  claimByHost,
  claimForLaunch,
  moveTimer,
  recordTask,
  renewLease,
} from './dynamo-claim-run.ts';
import { createRun, readSpecification } from './dynamo-create-run.ts';
import { finishRun, readEnding, requestCancel, requeueRun } from './dynamo-end-run.ts';
import { listRuns, liveRuns } from './dynamo-list-runs.ts';
import { correctQuota, listQuotaCounters } from './dynamo-quota.ts';
import { dueTimers } from './dynamo-read-due.ts';
import { readAttempts, readHead, readPages, readSnapshot } from './dynamo-read-run.ts';
import { releaseClaim } from './dynamo-release-claim.ts';
import type { RunLedger } from './run-ledger.ts';

/** The ledger on the platform's one DynamoDB table. */
export function openDynamoRunLedger(table: Table): RunLedger {
  return {
    createRun: (input) => createRun(table, input),
    readHead: (ref) => readHead(table, ref),
    readSpecification: (ref) => readSpecification(table, ref),
    readSnapshot: (ref, epoch) => readSnapshot(table, ref, epoch),
    readAttempts: (ref) => readAttempts(table, ref),
    listRuns: (tenantId, options) => listRuns(table, tenantId, options),
    liveRuns: (tenantId, options) => liveRuns(table, tenantId, options),
    claimForLaunch: (input) => claimForLaunch(table, input),
    releaseClaim: (input) => releaseClaim(table, input),
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
    dueTimers: (shard, now, options) => dueTimers(table, shard, now, options),
    moveTimer: (ref, seenDueAt, dueAt, seenStatus) =>
      moveTimer(table, ref, seenDueAt, dueAt, seenStatus),
    listQuotaCounters: (partition) => listQuotaCounters(table, partition),
    correctQuota: (seen, live) => correctQuota(table, seen, live),
  };
}
