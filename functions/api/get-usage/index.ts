import { systemClock } from '#shared/kit/clock.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { openTable } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { getUsageHandler } from './handler.ts';

const env = readEnv('TABLE_NAME');

export const handler = getUsageHandler({
  usage: openDynamoUsageStore(openTable(env.TABLE_NAME)),
  clock: systemClock,
  log: openLogger('get-usage'),
});
