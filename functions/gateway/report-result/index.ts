import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { systemClock } from '#shared/kit/clock.ts';
import { SqsRunQueue } from '#shared/orchestrator/sqs-run-queue.ts';
import { openLedger, openWaitList } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv, readTiming } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { reportResultHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'SIGNING_SECRET_ID', 'RUNS_QUEUE_URL');
const executionTokens = executionTokensOf(new SecretsManagerClient({}), env.SIGNING_SECRET_ID);
const log = openLogger('report-result');
const ledger = openLedger(env.TABLE_NAME);
const waitList = openWaitList(env.TABLE_NAME);
const queue = new SqsRunQueue(new SQSClient({}), env.RUNS_QUEUE_URL);
const timing = readTiming();

export const handler = reportResultHandler(
  async () => ({
    ledger,
    waitList,
    tokens: await executionTokens(),
    queue,
    timing,
    clock: systemClock,
    log,
  }),
  log,
);
