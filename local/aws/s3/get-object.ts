import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Objects, StoredObject } from './objects.ts';
import { named } from './put-object.ts';
import type { S3Request } from './request.ts';
import { noSuchKey, preconditionFailed, s3Error } from './s3-error.ts';

/** First and last byte, both included. */
interface Range {
  readonly first: number;
  readonly last: number;
}

/** Answers a `GET` or `HEAD` of an object. */
export async function getObject(
  objects: Objects,
  request: S3Request,
  response: ServerResponse,
): Promise<void> {
  objects.checkBucket(request.bucket);
  const object = objects.find(request.bucket, request.key);
  if (!object) throw noSuchKey(request.key);
  if (isUnchanged(request, object)) {
    response.writeHead(304, { etag: `"${object.etag}"` }).end();
    return;
  }
  const range = rangeOf(request.headers.get('range'), object.size);
  const { first, last } = range ?? { first: 0, last: object.size - 1 };
  const headers = {
    'content-type': 'binary/octet-stream',
    ...object.headers,
    'accept-ranges': 'bytes',
    'content-length': last - first + 1,
    etag: `"${object.etag}"`,
    'last-modified': new Date(object.modifiedAt).toUTCString(),
    'x-amz-server-side-encryption': 'AES256',
    ...(range && { 'content-range': `bytes ${first}-${last}/${object.size}` }),
    // A checksum is of the whole object, so a part comes without.
    ...(!range && request.headers.get('x-amz-checksum-mode') && named(object.checksums)),
  };
  const status = range ? 206 : 200;
  if (request.method === 'HEAD' || object.size === 0) {
    response.writeHead(status, headers).end();
    return;
  }
  // Opened in the same turn as it was found: a write in between would have taken the file away.
  const content = createReadStream('', { fd: objects.open(object), start: first, end: last });
  response.writeHead(status, headers);
  await pipeline(content, response);
}

/** Whether a conditional read needs no content; throws when `If-Match` fails. */
function isUnchanged(request: S3Request, object: StoredObject): boolean {
  const match = request.headers.get('if-match');
  if (match !== undefined && !names(match, object)) throw preconditionFailed('If-Match');
  const noneMatch = request.headers.get('if-none-match');
  return noneMatch !== undefined && names(noneMatch, object);
}

function names(condition: string, object: StoredObject): boolean {
  return condition
    .split(',')
    .map((etag) => etag.trim().replace(/^W\//, '').replaceAll('"', ''))
    .some((etag) => etag === '*' || etag === object.etag);
}

/** One range of bytes; what is no such range is ignored, as HTTP says, and one beyond the end refused. */
function rangeOf(header: string | undefined, size: number): Range | undefined {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  const first = from === '' ? Math.max(0, size - Number(to)) : Number(from);
  const last = from === '' || to === '' ? size - 1 : Math.min(Number(to), size - 1);
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  if (first > last) {
    throw s3Error('InvalidRange', 'The requested range is not satisfiable', {
      RangeRequested: header ?? '',
      ActualObjectSize: String(size),
    });
  }
  return { first, last };
}
