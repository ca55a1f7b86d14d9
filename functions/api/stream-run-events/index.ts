import { systemTimerClock } from '#shared/kit/timer-clock.ts';
import { openLogFeeds } from '#shared/orchestrator/index.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { streamifyResponse } from '../../kit/response-stream.ts';
import { streamRunEventsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME');
const ledger = openLedger(env.TABLE_NAME);
const clock = systemTimerClock;

export const handler = streamifyResponse(
  streamRunEventsHandler({
    ledger,
    feeds: openLogFeeds({ ledger, clock }),
    clock,
    log: openLogger('stream-run-events'),
    random: Math.random,
  }),
);
