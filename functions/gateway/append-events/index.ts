import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { appendEventsHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'SIGNING_SECRET_ID');
const executionTokens = executionTokensOf(new SecretsManagerClient({}), env.SIGNING_SECRET_ID);
const log = openLogger('append-events');
const ledger = openLedger(env.TABLE_NAME);

export const handler = appendEventsHandler(
  async () => ({
    ledger,
    tokens: await executionTokens(),
  }),
  log,
);
