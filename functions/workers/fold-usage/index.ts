import { SQSClient } from '@aws-sdk/client-sqs';
import { SqsStreamFailures } from '#shared/orchestrator/sqs-stream-failures.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { openDynamoUsageStore } from '#shared/usage/dynamo-usage-store.ts';
import { openLedger, openTable } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { foldUsageHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'USAGE_FAILURES_QUEUE_URL');

export const handler = foldUsageHandler({
  ledger: openLedger(env.TABLE_NAME),
  usage: openDynamoUsageStore(openTable(env.TABLE_NAME)),
  failures: new SqsStreamFailures(new SQSClient({}), env.USAGE_FAILURES_QUEUE_URL),
  log: openLogger('fold-usage'),
  readPage: readPageImage,
});
