import { setTimeout as delay } from 'node:timers/promises';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '#shared/kit/clock.ts';
import { openDynamoParkedRuns } from '#shared/orchestrator/dynamo-parked-runs.ts';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import { openSqsFailureInbox } from '#shared/orchestrator/sqs-failure-inbox.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { openLedger, openTable } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { redrivePagesHandler } from './handler.ts';

const env = readEnv(
  'TABLE_NAME',
  'EVENT_BUS_NAME',
  'OUTBOX_FAILURES_QUEUE_URL',
  'USAGE_FAILURES_QUEUE_URL',
);
const table = openTable(env.TABLE_NAME);
const clients = { sqs: new SQSClient({}), streams: new DynamoDBStreamsClient({}) };

export const handler = redrivePagesHandler({
  ledger: openLedger(env.TABLE_NAME),
  parked: openDynamoParkedRuns(table, systemClock),
  usage: openDynamoUsageStore(table),
  bus: new EventBridgeEventBus(new EventBridgeClient({}), env.EVENT_BUS_NAME),
  inboxes: {
    outbox: openSqsFailureInbox(clients, env.OUTBOX_FAILURES_QUEUE_URL),
    usage: openSqsFailureInbox(clients, env.USAGE_FAILURES_QUEUE_URL),
  },
  clock: systemClock,
  log: openLogger('redrive-pages'),
  wait: (ms) => delay(ms),
});
