import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SecretsVault } from '#shared/credentials/secrets-vault.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { claimRunHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'SIGNING_SECRET_ID', 'TENANT_SECRETS_PREFIX');
const secrets = new SecretsManagerClient({});
const executionTokens = executionTokensOf(secrets, env.SIGNING_SECRET_ID);
const log = openLogger('claim-run');
const ledger = openLedger(env.TABLE_NAME);
const vault = new SecretsVault(secrets);
const timing = readTiming();

export const handler = claimRunHandler(
  async () => ({
    ledger,
    vault,
    secretsPrefix: env.TENANT_SECRETS_PREFIX,
    tokens: await executionTokens(),
    timing,
    clock: systemClock,
    log,
  }),
  log,
);
