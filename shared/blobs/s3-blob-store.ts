import {
  GetObjectCommand,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { type BlobStore, blobName } from './blob-store.ts';

const PRECONDITION_FAILED = 412;
/** Who may not list a bucket is told 403 of an object that is not there. */
const NOT_THERE: readonly (number | undefined)[] = [403, 404];

/** Blobs in one S3 bucket. */
export function openS3BlobStore(client: S3Client, bucket: string): BlobStore {
  return {
    async put(key, content) {
      try {
        await client.send(
          new PutObjectCommand({
            Bucket: bucket,
            Key: blobName(key),
            Body: content,
            ContentType: 'application/json',
            IfNoneMatch: '*',
            ChecksumSHA256: Buffer.from(key.sha256, 'hex').toString('base64'),
          }),
        );
      } catch (error) {
        // Whoever came first has put the same content: its name is its hash.
        if (statusOf(error) !== PRECONDITION_FAILED) throw error;
      }
    },
    async read(key) {
      try {
        const object = await client.send(
          new GetObjectCommand({ Bucket: bucket, Key: blobName(key) }),
        );
        if (!object.Body) return undefined;
        return {
          bytes: object.ContentLength ?? 0,
          content: object.Body as unknown as AsyncIterable<Uint8Array>,
        };
      } catch (error) {
        if (NOT_THERE.includes(statusOf(error))) return undefined;
        throw error;
      }
    },
  };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
