import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { MAX_BLOB_BYTES, type NewEvent, type UploadBlobRequest } from '#shared/contracts/index.ts';

type Json = NewEvent['payload'];

const PREVIEW_TEXT_CHARACTERS = 1_000;
const PREVIEW_ITEMS = 20;
const PREVIEW_DEPTH = 8;
/** A payload of very many fields has no useful preview. */
const PREVIEW_BYTES = 32 * 1024;

/** The payload of an event that is too large for the log, as it is uploaded; undefined when no blob may be so large. */
export function blobOf(event: NewEvent): UploadBlobRequest | undefined {
  const text = Buffer.from(JSON.stringify(event.payload));
  if (text.length > MAX_BLOB_BYTES) return undefined;
  const sha256 = createHash('sha256').update(text).digest('hex');
  return {
    blob: { sha256, bytes: text.length },
    data: deflateRawSync(text).toString('base64'),
  };
}

/** The event as the log keeps it once its payload is a blob. */
export function pointerTo(event: NewEvent, { blob }: Pick<UploadBlobRequest, 'blob'>): NewEvent {
  const preview = previewOf(event.payload, PREVIEW_DEPTH);
  const small = Buffer.byteLength(JSON.stringify(preview)) <= PREVIEW_BYTES;
  return { ...event, payload: small ? preview : {}, blob };
}

/** The same shape with less in it: a reader that knows the event type still finds its fields. */
function previewOf(value: Json, depth: number): Json {
  if (typeof value === 'string') {
    if (value.length <= PREVIEW_TEXT_CHARACTERS) return value;
    // Not through a surrogate pair: half of one is no text.
    return `${value.slice(0, PREVIEW_TEXT_CHARACTERS).toWellFormed()}…`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) {
    return value.slice(0, PREVIEW_ITEMS).map((item) => previewOf(item, depth - 1));
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, previewOf(inner, depth - 1)]),
  );
}
