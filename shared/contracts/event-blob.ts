import { z } from 'zod';

/**
 * Largest event that is stored in the log itself, in bytes of its JSON. Of a larger one the log holds a preview and
 * a pointer; the payload is a blob of the run.
 */
export const MAX_INLINE_EVENT_BYTES = 200 * 1024;

/**
 * Largest payload that is kept as a blob, in bytes of its JSON. A function of the gateway takes 6 MB in one request:
 * what cannot be compressed grows by a third in base64 and must still fit.
 */
export const MAX_BLOB_BYTES = 4 * 1024 * 1024;

export const sha256Schema = z.string().regex(/^[0-9a-f]{64}$/, {
  error: 'must be a SHA-256 in lower hexadecimal',
});

/** Where the whole payload of an event is: `GET /v1/runs/{runId}/blobs/{sha256}`. Its name is its content's hash. */
export const eventBlobSchema = z.strictObject({
  sha256: sha256Schema,
  bytes: z.number().int().min(1).max(MAX_BLOB_BYTES),
});
export type EventBlob = z.infer<typeof eventBlobSchema>;
