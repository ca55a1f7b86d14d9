import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { listRunsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME');

export const handler = listRunsHandler({
  ledger: openLedger(env.TABLE_NAME),
  log: openLogger('list-runs'),
});
