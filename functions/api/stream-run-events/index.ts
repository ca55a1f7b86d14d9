import { systemClock } from '#shared/kit/clock.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { streamifyResponse } from '../../kit/response-stream.ts';
import { streamRunEventsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME');

export const handler = streamifyResponse(
  streamRunEventsHandler({
    ledger: openLedger(env.TABLE_NAME),
    clock: systemClock,
    log: openLogger('stream-run-events'),
    pollMinMs: 100,
    pollMaxMs: 1_000,
  }),
);
