import type { Objects, StoredObject } from './objects.ts';
import { s3Error } from './s3-error.ts';
import { xmlDocument } from './xml.ts';

interface Page {
  readonly objects: readonly StoredObject[];
  readonly prefixes: readonly string[];
  /** Where the next page begins; undefined on the last. */
  readonly next: Buffer | undefined;
}

const MAX_KEYS = 1000;
const NUL = Buffer.from([0]);
/** In no UTF-8 text, so it sorts after everything that begins with what it is added to. */
const AFTER_ALL = Buffer.from([0xff]);

/** The XML of `ListObjectsV2`. */
export function listObjects(objects: Objects, bucket: string, query: URLSearchParams): string {
  if (query.get('list-type') !== '2') {
    throw s3Error('NotImplemented', 'The local S3 lists with ListObjectsV2 only.');
  }
  objects.checkBucket(bucket);
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter') ?? '';
  const startAfter = query.get('start-after') ?? undefined;
  const token = query.get('continuation-token') ?? undefined;
  const maxKeys = maxKeysOf(query.get('max-keys'));
  const start = startOf(prefix, startAfter, token);
  const page = collect(objects, bucket, prefix, delimiter, start, maxKeys);
  const url = query.get('encoding-type') === 'url';
  const text = (key: string) => (url ? encodeURIComponent(key).replaceAll('%2F', '/') : key);
  return xmlDocument('ListBucketResult', {
    Name: bucket,
    Prefix: text(prefix),
    Delimiter: delimiter === '' ? undefined : text(delimiter),
    MaxKeys: maxKeys,
    EncodingType: url ? 'url' : undefined,
    KeyCount: page.objects.length + page.prefixes.length,
    IsTruncated: page.next !== undefined,
    ContinuationToken: token,
    NextContinuationToken: page.next?.toString('base64url'),
    StartAfter: startAfter === undefined ? undefined : text(startAfter),
    Contents: page.objects.map((object) => ({
      Key: text(object.key),
      LastModified: new Date(object.modifiedAt).toISOString(),
      ETag: `"${object.etag}"`,
      Size: object.size,
      StorageClass: 'STANDARD',
    })),
    CommonPrefixes: page.prefixes.map((each) => ({ Prefix: text(each) })),
  });
}

function maxKeysOf(text: string | null): number {
  if (text === null) return MAX_KEYS;
  if (!/^\d{1,10}$/.test(text)) {
    throw s3Error('InvalidArgument', 'Provided max-keys not an integer or within integer range');
  }
  return Math.min(MAX_KEYS, Number(text));
}

function startOf(prefix: string, startAfter: string | undefined, token: string | undefined) {
  if (token === '') throw s3Error('InvalidArgument', 'The continuation token is incorrect');
  if (token !== undefined) return Buffer.from(token, 'base64url');
  const first = Buffer.from(prefix);
  if (startAfter === undefined) return first;
  const after = Buffer.concat([Buffer.from(startAfter), NUL]);
  return Buffer.compare(after, first) > 0 ? after : first;
}

function collect(
  store: Objects,
  bucket: string,
  prefix: string,
  delimiter: string,
  start: Buffer,
  maxKeys: number,
): Page {
  const objects: StoredObject[] = [];
  const prefixes: string[] = [];
  let from = start;
  while (maxKeys > 0) {
    const object = store.firstFrom(bucket, from);
    if (!object?.key.startsWith(prefix)) break;
    if (objects.length + prefixes.length === maxKeys) return { objects, prefixes, next: from };
    const end = delimiter === '' ? -1 : object.key.indexOf(delimiter, prefix.length);
    if (end < 0) {
      objects.push(object);
      from = Buffer.concat([Buffer.from(object.key), NUL]);
    } else {
      const common = object.key.slice(0, end + delimiter.length);
      prefixes.push(common);
      from = Buffer.concat([Buffer.from(common), AFTER_ALL]);
    }
  }
  return { objects, prefixes, next: undefined };
}
