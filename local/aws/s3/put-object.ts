import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { BodyMeasure, CHECKSUM_HEADER, type Measured } from './checksums.ts';
import { ChunkedBody } from './chunked-body.ts';
import type { ObjectHeaders, Objects, StoredObject } from './objects.ts';
import { chunksOf, type S3Request } from './request.ts';
import { noSuchKey, preconditionFailed, s3Error } from './s3-error.ts';

const KEPT_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
];

const METADATA = 'x-amz-meta-';
const MAX_METADATA_BYTES = 2048;

/** Stores a body and returns the headers of the answer. Nothing is visible until all of it is checked. */
export async function putObject(
  objects: Objects,
  request: S3Request,
  now: () => number,
): Promise<Record<string, string>> {
  const { bucket, key } = request;
  objects.checkBucket(bucket);
  const check = conditionOf(request);
  // Known to fail, so the body need not be stored first; it is checked again when it is.
  check(objects.find(bucket, key));
  const headers = keptHeaders(request.headers);
  const path = objects.newFile();
  try {
    const measured = await receive(request, path);
    const { size, md5: etag, checksums } = measured;
    objects.commit(bucket, { key, size, etag, headers, checksums, modifiedAt: now() }, path, check);
    return { etag: `"${etag}"`, 'x-amz-server-side-encryption': 'AES256', ...named(checksums) };
  } catch (error) {
    objects.discard(path);
    throw error;
  }
}

/** The answer headers of an object's checksums. */
export function named(checksums: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(checksums);
  return Object.fromEntries(entries.map(([name, value]) => [CHECKSUM_HEADER + name, value]));
}

async function receive(request: S3Request, path: string): Promise<Measured> {
  const { headers } = request;
  const trailers = (headers.get('x-amz-trailer') ?? '').split(',').map((name) => name.trim());
  const measure = new BodyMeasure([...headers.keys(), ...trailers]);
  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      measure.update(chunk);
      yield chunk;
    }
  };
  // Opened before anything can fail: an open still under way would make the file after it was discarded.
  const file = (await open(path, 'wx')).createWriteStream();
  if (!isChunked(headers)) {
    await pipeline(chunksOf(request), measured, file);
    return complete(measure.verify(headers), headers.get('content-length'));
  }
  const chunked = new ChunkedBody();
  await pipeline(chunksOf(request), chunked, measured, file);
  return complete(
    measure.verify(new Map([...headers, ...chunked.trailers])),
    headers.get('x-amz-decoded-content-length'),
  );
}

function isChunked(headers: ReadonlyMap<string, string>): boolean {
  return (
    /\baws-chunked\b/.test(headers.get('content-encoding') ?? '') ||
    (headers.get('x-amz-content-sha256') ?? '').startsWith('STREAMING-')
  );
}

function complete(measured: Measured, announced: string | undefined): Measured {
  if (announced !== undefined && Number(announced) !== measured.size) {
    const message =
      'You did not provide the number of bytes specified by the Content-Length HTTP header';
    throw s3Error('IncompleteBody', message);
  }
  return measured;
}

/** `If-None-Match: *` and `If-Match` of a write. */
function conditionOf(request: S3Request): (current: StoredObject | undefined) => void {
  const noneMatch = request.headers.get('if-none-match');
  const match = request.headers.get('if-match');
  if (noneMatch !== undefined && noneMatch !== '*') {
    throw s3Error('NotImplemented', 'A write takes only * in If-None-Match.');
  }
  return (current) => {
    if (noneMatch !== undefined && current) throw preconditionFailed('If-None-Match');
    if (match === undefined) return;
    if (!current) throw noSuchKey(request.key);
    if (match !== '*' && match.replaceAll('"', '') !== current.etag) {
      throw preconditionFailed('If-Match');
    }
  };
}

function keptHeaders(headers: ReadonlyMap<string, string>): ObjectHeaders {
  const kept = [...headers].filter(
    ([name]) => KEPT_HEADERS.includes(name) || name.startsWith(METADATA),
  );
  const metadata = kept.filter(([name]) => name.startsWith(METADATA));
  const bytes = metadata.reduce(
    (sum, [name, value]) => sum + name.length - METADATA.length + Buffer.byteLength(value),
    0,
  );
  if (bytes > MAX_METADATA_BYTES) {
    const message = 'Your metadata headers exceed the maximum allowed metadata size';
    throw s3Error('MetadataTooLarge', message);
  }
  return Object.fromEntries(
    kept
      .map(([name, value]) => [name, name === 'content-encoding' ? withoutFraming(value) : value])
      .filter(([, value]) => value !== ''),
  );
}

/** `aws-chunked` is how the body came, not how it is stored. */
function withoutFraming(encoding: string): string {
  const parts = encoding.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== 'aws-chunked').join(', ');
}
