import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { systemClock } from '#shared/kit/clock.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { renewLeaseHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'SIGNING_SECRET_ID');
const executionTokens = executionTokensOf(new SecretsManagerClient({}), env.SIGNING_SECRET_ID);
const log = openLogger('renew-lease');
const ledger = openLedger(env.TABLE_NAME);
const timing = readTiming();

export const handler = renewLeaseHandler(
  async () => ({
    ledger,
    tokens: await executionTokens(),
    timing,
    clock: systemClock,
  }),
  log,
);
