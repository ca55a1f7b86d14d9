import type { IncomingMessage } from 'node:http';
import { s3Error } from './s3-error.ts';

/** A path-style request: `/bucket/key?query`. */
export interface S3Request {
  readonly method: string;
  /** Empty for the service itself. */
  readonly bucket: string;
  /** Empty for the bucket itself. */
  readonly key: string;
  readonly query: URLSearchParams;
  /** Lower-case names, as Node gives them, repeated ones joined. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: IncomingMessage;
}

const MAX_KEY_BYTES = 1024;

/** The parts of S3 that the local one does not have; they are refused, never taken for something else. */
const ABSENT = [
  'accelerate',
  'acl',
  'analytics',
  'cors',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'partNumber',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'replication',
  'requestPayment',
  'restore',
  'retention',
  'select',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versionId',
  'versioning',
  'versions',
  'website',
];

/** Reads a request's address; the key is taken as it is, dots and slashes included. */
export function parseRequest(message: IncomingMessage): S3Request {
  const [path = '', search = ''] = splitOnce(message.url ?? '/', '?');
  const [bucket, key = ''] = splitOnce(path.slice(1), '/');
  const headers = new Map(
    Object.entries(message.headers).map(([name, value]) => [name, String(value ?? '')]),
  );
  const request: S3Request = {
    method: message.method ?? 'GET',
    bucket: decode(bucket),
    key: decode(key),
    query: new URLSearchParams(search),
    headers,
    body: message,
  };
  const absent = ABSENT.find((name) => request.query.has(name));
  if (absent) throw s3Error('NotImplemented', `The local S3 has no ${absent}.`);
  if (headers.has('x-amz-copy-source')) {
    throw s3Error('NotImplemented', 'The local S3 copies no objects.');
  }
  if (Buffer.byteLength(request.key) > MAX_KEY_BYTES) {
    throw s3Error('KeyTooLongError', 'Your key is too long');
  }
  return request;
}

/** The body as it comes. Stopping early leaves the connection open, so that an error can still be answered. */
export function chunksOf(request: S3Request): AsyncIterable<Buffer> {
  return request.body.iterator({ destroyOnReturn: false });
}

function splitOnce(text: string, separator: string): [string, string?] {
  const index = text.indexOf(separator);
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw s3Error('InvalidURI', "Couldn't parse the specified URI.");
  }
}
