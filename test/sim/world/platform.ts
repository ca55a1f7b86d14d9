import { setTimeout as delay } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ECSClient } from '@aws-sdk/client-ecs';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { S3Client } from '@aws-sdk/client-s3';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { cancelRunHandler } from '#functions/api/cancel-run/handler.ts';
import { createRunHandler } from '#functions/api/create-run/handler.ts';
import { getRunHandler } from '#functions/api/get-run/handler.ts';
import { streamRunEventsHandler } from '#functions/api/stream-run-events/handler.ts';
import { appendEventsHandler } from '#functions/gateway/append-events/handler.ts';
import { claimRunHandler } from '#functions/gateway/claim-run/handler.ts';
import { keepBlobHandler } from '#functions/gateway/keep-blob/handler.ts';
import { renewLeaseHandler } from '#functions/gateway/renew-lease/handler.ts';
import { reportResultHandler } from '#functions/gateway/report-result/handler.ts';
import { executionTokensOf } from '#functions/kit/secrets-reader.ts';
import { dispatchRunHandler } from '#functions/workers/dispatch-run/handler.ts';
import { failDeadRunHandler } from '#functions/workers/fail-dead-run/handler.ts';
import { foldUsageHandler } from '#functions/workers/fold-usage/handler.ts';
import { relayOutboxHandler } from '#functions/workers/relay-outbox/handler.ts';
import { settleStoppedTaskHandler } from '#functions/workers/settle-stopped-task/handler.ts';
import { sweepDueRunsHandler } from '#functions/workers/sweep-due-runs/handler.ts';
import { openS3BlobStore } from '#shared/blobs/s3-blob-store.ts';
import { SecretsVault } from '#shared/credentials/secrets-vault.ts';
import { engineRegistry } from '#shared/engines/index.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { systemTimerClock } from '#shared/kit/timer-clock.ts';
import { openDynamoParkedRuns } from '#shared/orchestrator/dynamo-parked-runs.ts';
import { EcsTaskControl } from '#shared/orchestrator/ecs-task-control.ts';
import { EcsTaskLauncher } from '#shared/orchestrator/ecs-task-launcher.ts';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import {
  type Logger,
  openLogFeeds,
  openSweeper,
  orphanTasksChore,
  type Timing,
} from '#shared/orchestrator/index.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { SqsStreamFailures } from '#shared/orchestrator/sqs-stream-failures.ts';
import { openDynamoWaitList } from '#shared/quotas/dynamo-wait-list.ts';
import { runLimitsSchema } from '#shared/quotas/index.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import { Table } from '#shared/table/index.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { asClient, type CommandSender } from './aws-fault.ts';
import { TABLE_NAME } from './table.ts';

export interface PlatformParts {
  readonly table: CommandSender;
  readonly queue: CommandSender;
  readonly tasks: CommandSender;
  readonly bus: CommandSender;
  readonly secrets: CommandSender;
  readonly blobs: CommandSender;
  /** Where consumers of the stream report what they give up. */
  readonly failures: CommandSender;
  readonly timing: Timing;
  readonly tenantRunLimit: number;
  readonly log: Logger;
  readonly ids: { runId(): string; traceId(): string };
}

export const GATEWAY_URL = 'https://gateway.invalid/';
const SIGNING_SECRET = 'signing';
const CLUSTER = 'sim';

/** The platform put together as its composition roots do it, on the simulated services. */
export function openPlatform(parts: PlatformParts) {
  const { timing, log } = parts;
  const clock = systemClock;
  const table = new Table(asClient<DynamoDBClient>(parts.table), TABLE_NAME);
  const ledger = openDynamoRunLedger(table);
  const queue = new SqsRunQueue(asClient<SQSClient>(parts.queue), 'https://queue.invalid/runs');
  const tokens = executionTokensOf(asClient<SecretsManagerClient>(parts.secrets), SIGNING_SECRET);
  const ecs = asClient<ECSClient>(parts.tasks);
  const registry = engineRegistry;
  const waitList = openDynamoWaitList(table);
  const settling = { ledger, waitList, queue, timing, clock, log };
  const control = new EcsTaskControl(ecs, CLUSTER);
  const sweeping = { ...settling, launcher: control, wait: (ms: number) => delay(ms) };
  const failures = new SqsStreamFailures(
    asClient<SQSClient>(parts.failures),
    'https://queue.invalid/failures',
  );
  const deployed: [] = [];
  return {
    ledger,
    createRun: createRunHandler({ ...settling, registry, deployed, ids: parts.ids }),
    getRun: getRunHandler({ ledger, log }),
    cancelRun: cancelRunHandler({ ledger, launcher: control, timing, clock, log }),
    /** A new one for each invocation: readers of one execution environment share a feed, and here each has its own. */
    openStream: () =>
      streamRunEventsHandler({
        ledger,
        feeds: openLogFeeds({ ledger, clock: systemTimerClock }),
        clock: systemTimerClock,
        log,
        random: Math.random,
      }),
    claimRun: claimRunHandler(
      async () => ({
        ...settling,
        vault: new SecretsVault(asClient<SecretsManagerClient>(parts.secrets)),
        secretsPrefix: 'tenants/',
        tokens: await tokens(),
      }),
      log,
    ),
    appendEvents: appendEventsHandler(async () => ({ ledger, tokens: await tokens() }), log),
    keepBlob: keepBlobHandler(
      async () => ({
        ledger,
        blobs: openS3BlobStore(asClient<S3Client>(parts.blobs), 'blobs'),
        tokens: await tokens(),
      }),
      log,
    ),
    renewLease: renewLeaseHandler(
      async () => ({ ledger, tokens: await tokens(), timing, clock }),
      log,
    ),
    reportResult: reportResultHandler(async () => ({ ...settling, tokens: await tokens() }), log),
    dispatchRun: dispatchRunHandler(
      async () => ({
        ...settling,
        registry,
        deployed,
        limits: runLimitsSchema.parse({ perTenant: parts.tenantRunLimit }),
        launcher: new EcsTaskLauncher(ecs, {
          clusterArn: CLUSTER,
          taskDefinitionArn: 'arn:aws:ecs:eu-west-1:000000000000:task-definition/host:1',
          containerName: 'runtime-host',
          subnets: ['subnet'],
          securityGroups: ['group'],
          gatewayUrl: GATEWAY_URL,
        }),
        tokens: await tokens(),
      }),
      log,
    ),
    failDeadRun: failDeadRunHandler(settling),
    relayOutbox: relayOutboxHandler({
      bus: new EventBridgeEventBus(asClient<EventBridgeClient>(parts.bus), 'bus'),
      parked: openDynamoParkedRuns(table, clock),
      failures,
      clock,
      log,
      wait: (ms) => delay(ms),
      readPage: readPageImage,
    }),
    foldUsage: foldUsageHandler({
      ledger,
      usage: openDynamoUsageStore(table),
      failures,
      log,
      readPage: readPageImage,
    }),
    settleStoppedTask: settleStoppedTaskHandler(settling),
    /** A new one at each cold start: its memory is the execution environment's. */
    openSweep: () => sweepDueRunsHandler(openSweeper(sweeping, [orphanTasksChore(sweeping)]), log),
  };
}
export type Platform = ReturnType<typeof openPlatform>;
