import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RestFallback } from '../kit/aws-endpoint.ts';
import { AwsError } from '../kit/aws-error.ts';
import type { StateDatabase } from '../kit/state-database.ts';
import { BodyMeasure } from './checksums.ts';
import { getObject } from './get-object.ts';
import { listObjects } from './list-objects.ts';
import { Objects } from './objects.ts';
import { putObject } from './put-object.ts';
import { chunksOf, parseRequest, type S3Request } from './request.ts';
import { s3Error } from './s3-error.ts';
import { textsOf, xmlDocument } from './xml.ts';

export interface S3Options {
  /** Where the bytes of objects are kept. */
  readonly dataDir: string;
  /** Holds buckets and what is known of objects. */
  readonly state: StateDatabase;
  /** us-east-1 when omitted. */
  readonly region?: string;
  /** Milliseconds since 1970; the system clock when omitted. */
  readonly now?: () => number;
}

/** To be given to the endpoint as its fallback; `close` ends requests under way. */
export type S3Endpoint = RestFallback & { close(): Promise<void> };

const XML = { 'content-type': 'application/xml' };
const MAX_XML_BYTES = 1024 * 1024;
const MAX_DELETES = 1000;

/**
 * An embedded Amazon S3, path-style: buckets, objects streamed to and from files, conditional writes,
 * checksums, ranges, listing. What it does not have (versions, multipart, ACLs …) is refused with
 * `NotImplemented`. Signatures are not checked.
 */
export function openS3(options: S3Options): S3Endpoint {
  const { state, dataDir, region = 'us-east-1', now = Date.now } = options;
  const objects = new Objects(state, dataDir);
  const underWay = new Set<Promise<void>>();

  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const request = parseRequest(message);
      await route({ objects, region, now }, request, response);
    } catch (error) {
      sendError(message, response, error);
    }
  }

  const handle: RestFallback = (message, response) => {
    const done = answer(message, response).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  return Object.assign(handle, {
    async close() {
      await Promise.all(underWay);
    },
  });
}

interface Parts {
  readonly objects: Objects;
  readonly region: string;
  readonly now: () => number;
}

async function route(parts: Parts, request: S3Request, response: ServerResponse): Promise<void> {
  if (request.bucket === '') return routeService(parts, request, response);
  if (request.key === '') return routeBucket(parts, request, response);
  const { objects, now } = parts;
  switch (request.method) {
    case 'PUT':
      response.writeHead(200, await putObject(objects, request, now)).end();
      return;
    case 'GET':
    case 'HEAD':
      return getObject(objects, request, response);
    case 'DELETE':
      objects.checkBucket(request.bucket);
      objects.delete(request.bucket, request.key);
      response.writeHead(204).end();
      return;
    default:
      throw notAllowed();
  }
}

function routeService({ objects }: Parts, request: S3Request, response: ServerResponse): void {
  if (request.method !== 'GET') throw notAllowed();
  const buckets = objects.buckets().map((bucket) => ({
    Name: bucket.name,
    CreationDate: new Date(bucket.created_at).toISOString(),
  }));
  const owner = { ID: 'local', DisplayName: 'local' };
  const content = { Owner: owner, Buckets: { Bucket: buckets } };
  sendXml(response, xmlDocument('ListAllMyBucketsResult', content));
}

async function routeBucket(
  parts: Parts,
  request: S3Request,
  response: ServerResponse,
): Promise<void> {
  const { objects, region } = parts;
  const { bucket, query } = request;
  switch (request.method) {
    case 'PUT':
      createBucket(parts, bucket);
      request.body.resume();
      response.writeHead(200, { location: `/${bucket}` }).end();
      return;
    case 'HEAD':
      objects.checkBucket(bucket);
      response.writeHead(200, { 'x-amz-bucket-region': region }).end();
      return;
    case 'GET':
      sendXml(response, listObjects(objects, bucket, query));
      return;
    case 'DELETE':
      deleteBucket(objects, bucket);
      response.writeHead(204).end();
      return;
    case 'POST':
      if (!query.has('delete')) throw notAllowed();
      sendXml(response, await deleteObjects(objects, request));
      return;
    default:
      throw notAllowed();
  }
}

function createBucket({ objects, region, now }: Parts, bucket: string): void {
  if (!/^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/.test(bucket) || /\.\.|^\d+(\.\d+){3}$/.test(bucket)) {
    throw s3Error('InvalidBucketName', 'The specified bucket is not valid.');
  }
  const exists = objects.hasBucket(bucket);
  // Creating one's own bucket again succeeds in the oldest region only.
  if (exists && region !== 'us-east-1') {
    const message =
      'Your previous request to create the named bucket succeeded and you already own it.';
    throw s3Error('BucketAlreadyOwnedByYou', message, { BucketName: bucket });
  }
  if (!exists) objects.addBucket(bucket, now());
}

function deleteBucket(objects: Objects, bucket: string): void {
  objects.checkBucket(bucket);
  if (objects.firstFrom(bucket, Buffer.alloc(0))) {
    throw s3Error('BucketNotEmpty', 'The bucket you tried to delete is not empty');
  }
  objects.deleteBucket(bucket);
}

async function deleteObjects(objects: Objects, request: S3Request): Promise<string> {
  objects.checkBucket(request.bucket);
  const xml = await readVerified(request);
  const keys = textsOf(xml, 'Key');
  if (keys.length === 0 || keys.length > MAX_DELETES) {
    const message = 'The XML you provided was not well-formed or did not validate.';
    throw s3Error('MalformedXML', message);
  }
  for (const key of keys) objects.delete(request.bucket, key);
  const quiet = textsOf(xml, 'Quiet')[0] === 'true';
  return xmlDocument('DeleteResult', { Deleted: quiet ? [] : keys.map((Key) => ({ Key })) });
}

async function readVerified(request: S3Request): Promise<string> {
  const measure = new BodyMeasure([...request.headers.keys()]);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request)) {
    size += chunk.length;
    measure.update(chunk);
    if (size > MAX_XML_BYTES) throw s3Error('MalformedXML', 'The XML you provided is too long.');
    chunks.push(chunk);
  }
  measure.verify(request.headers);
  return Buffer.concat(chunks).toString();
}

function sendXml(response: ServerResponse, xml: string): void {
  response.writeHead(200, XML).end(xml);
}

const notAllowed = () =>
  s3Error('MethodNotAllowed', 'The specified method is not allowed against this resource.');

function sendError(message: IncomingMessage, response: ServerResponse, error: unknown): void {
  // The client went away, or the answer had begun: there is nobody to tell, or no way to.
  if (response.headersSent || !response.socket || response.socket.destroyed) {
    response.destroy();
    return;
  }
  const known = error instanceof AwsError ? error : undefined;
  if (!known) console.error(`local S3 ${message.method} ${message.url}:`, error);
  const requestId = randomUUID();
  const body = xmlDocument(
    'Error',
    {
      Code: known?.type ?? 'InternalError',
      Message: known?.message ?? 'We encountered an internal error. Please try again.',
      ...(known?.extra as Record<string, string> | undefined),
      RequestId: requestId,
    },
    false,
  );
  // What is left of a body would be read as the next request.
  message.resume();
  response.writeHead(known?.statusCode ?? 500, { ...XML, 'x-amz-request-id': requestId });
  response.end(message.method === 'HEAD' ? undefined : body);
}
