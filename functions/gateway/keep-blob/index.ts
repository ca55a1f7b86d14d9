import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { openS3BlobStore } from '#shared/blobs/s3-blob-store.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { executionTokensOf } from '../../kit/secrets-reader.ts';
import { keepBlobHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'SIGNING_SECRET_ID', 'BLOB_BUCKET');
const executionTokens = executionTokensOf(new SecretsManagerClient({}), env.SIGNING_SECRET_ID);
const log = openLogger('keep-blob');
const ledger = openLedger(env.TABLE_NAME);
const blobs = openS3BlobStore(new S3Client({}), env.BLOB_BUCKET);

export const handler = keepBlobHandler(
  async () => ({ ledger, blobs, tokens: await executionTokens() }),
  log,
);
