import { setTimeout as delay } from 'node:timers/promises';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '#shared/kit/clock.ts';
import { openDynamoParkedRuns } from '#shared/orchestrator/dynamo-parked-runs.ts';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import { SqsStreamFailures } from '#shared/orchestrator/sqs-stream-failures.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { openTable } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { relayOutboxHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'EVENT_BUS_NAME', 'OUTBOX_FAILURES_QUEUE_URL');

export const handler = relayOutboxHandler({
  bus: new EventBridgeEventBus(
    // A call must not hang: the relay has better ways to be patient.
    new EventBridgeClient({ requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000 } }),
    env.EVENT_BUS_NAME,
  ),
  parked: openDynamoParkedRuns(openTable(env.TABLE_NAME), systemClock),
  failures: new SqsStreamFailures(new SQSClient({}), env.OUTBOX_FAILURES_QUEUE_URL),
  clock: systemClock,
  log: openLogger('relay-outbox'),
  wait: (ms) => delay(ms),
  readPage: readPageImage,
});
