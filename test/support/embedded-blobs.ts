import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openS3 } from '#local/aws/s3/s3.ts';
import { openS3BlobStore } from '#shared/blobs/s3-blob-store.ts';

/** The platform's blob store on the embedded S3, over a real socket and the real SDK. */
export async function openEmbeddedBlobs() {
  const dataDir = await mkdtemp(join(tmpdir(), 'nexusdesk-blobs-'));
  const state = openStateDatabase();
  const s3 = openS3({ dataDir, state });
  const endpoint = await startAwsEndpoint({ services: [], fallback: s3 });
  const client = new S3Client({
    endpoint: endpoint.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
  const bucket = 'blobs';
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  return {
    blobs: openS3BlobStore(client, bucket),
    client,
    bucket,
    async close() {
      client.destroy();
      await endpoint.close();
      await s3.close();
      state.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
