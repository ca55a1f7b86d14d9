import { createHash } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import type { ExecutionScope } from '#shared/auth/index.ts';
import type { BlobStore } from '#shared/blobs/index.ts';
import {
  isTerminal,
  MAX_BLOB_BYTES,
  PlatformError,
  type UploadBlobReply,
  type UploadBlobRequest,
} from '#shared/contracts/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { authorityLost } from './append-events.ts';

/**
 * Keeps the payload of an event that is too large for the log. What is kept is exactly what its name says: the hash is
 * computed here, from the content that arrived. Safe to repeat.
 *
 * @throws PlatformError `authority_lost`, `invalid_request`
 */
export async function keepBlob(
  deps: { ledger: RunLedger; blobs: BlobStore },
  scope: ExecutionScope,
  request: UploadBlobRequest,
): Promise<UploadBlobReply> {
  const { tenantId, runId, epoch } = scope;
  // An append needs no look at the head, because the log itself fences it. Nothing fences an object.
  const head = await deps.ledger.readHead({ tenantId, runId });
  if (!head || head.epoch !== epoch || isTerminal(head.status)) {
    throw authorityLost(head?.status ?? 'not found');
  }
  const { blob } = request;
  const content = decode(request);
  await deps.blobs.put({ tenantId, runId, sha256: blob.sha256 }, content);
  return { blob };
}

function decode({ blob, data }: UploadBlobRequest): Buffer {
  let content: Buffer;
  try {
    content = inflateRawSync(Buffer.from(data, 'base64'), { maxOutputLength: MAX_BLOB_BYTES });
    JSON.parse(content.toString('utf8'));
  } catch (cause) {
    throw refused('is not compressed JSON of an allowed size', cause);
  }
  const sha256 = createHash('sha256').update(content).digest('hex');
  if (content.length !== blob.bytes || sha256 !== blob.sha256) {
    throw refused('is not the content that its hash and size say');
  }
  return content;
}

function refused(why: string, cause?: unknown): PlatformError {
  return new PlatformError('invalid_request', `data ${why}`, { field: 'data', cause });
}
