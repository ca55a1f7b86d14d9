import project from '../../../package.json' with { type: 'json' };
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { getHealthHandler } from './handler.ts';

const env = readEnv('TABLE_NAME');

export const handler = getHealthHandler({
  ledger: openLedger(env.TABLE_NAME),
  version: project.version,
  log: openLogger('get-health'),
});
