import { S3Client } from '@aws-sdk/client-s3';
import { openS3BlobStore } from '#shared/blobs/s3-blob-store.ts';
import { openLedger } from '../../kit/dynamo-ledger.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { streamifyResponse } from '../../kit/response-stream.ts';
import { getRunBlobHandler } from './handler.ts';

const env = readEnv('TABLE_NAME', 'BLOB_BUCKET');

export const handler = streamifyResponse(
  getRunBlobHandler({
    ledger: openLedger(env.TABLE_NAME),
    blobs: openS3BlobStore(new S3Client({}), env.BLOB_BUCKET),
    log: openLogger('get-run-blob'),
  }),
);
