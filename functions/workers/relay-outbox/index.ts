import { setTimeout as delay } from 'node:timers/promises';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { EventBridgeEventBus } from '#shared/orchestrator/eventbridge-event-bus.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { relayOutboxHandler } from './handler.ts';

const env = readEnv('EVENT_BUS_NAME');

export const handler = relayOutboxHandler({
  bus: new EventBridgeEventBus(new EventBridgeClient({}), env.EVENT_BUS_NAME),
  log: openLogger('relay-outbox'),
  wait: (ms) => delay(ms),
  readPage: readPageImage,
});
