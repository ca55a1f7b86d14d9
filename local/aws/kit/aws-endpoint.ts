import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '#local/http/listen.ts';
import { AwsError } from './aws-error.ts';

/** What an operation may know of the connection that asked: `signal` aborts when the client goes away. */
export interface AwsCallContext {
  readonly signal: AbortSignal;
}

/** One operation of an AWS JSON service; `input` is the parsed request body, the answer is sent as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: the wire shape belongs to each operation, which checks it
export type AwsOperation = (input: any, context: AwsCallContext) => unknown;

/** A service of the AWS JSON 1.0/1.1 protocols, found by the first part of `x-amz-target`. */
export interface AwsJsonService {
  /** For example `DynamoDB_20120810` or `AmazonSQS`. A service may answer to several prefixes. */
  readonly targetPrefixes: readonly string[];
  readonly jsonVersion: '1.0' | '1.1';
  readonly operations: Readonly<Record<string, AwsOperation>>;
  /** Stops timers and waits for work under way; durable state stays on disk. */
  close(): Promise<void>;
}

/** Answers every request without `x-amz-target` (S3 speaks REST). */
export type RestFallback = (request: IncomingMessage, response: ServerResponse) => void;

export interface AwsEndpoint {
  /** For example `http://127.0.0.1:45123`, to be given to the SDK as `AWS_ENDPOINT_URL`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const MAX_REQUEST_BYTES = 20 * 1024 * 1024;

/**
 * Serves AWS JSON services on one loopback port. Errors of type {@link AwsError} are answered in the
 * protocol's form; anything else is a fault of ours: 500 and a line on stderr.
 */
export async function startAwsEndpoint(options: {
  services: readonly AwsJsonService[];
  fallback?: RestFallback;
  port?: number;
  host?: string;
}): Promise<AwsEndpoint> {
  const byPrefix = new Map(
    options.services.flatMap((service) =>
      service.targetPrefixes.map((prefix) => [prefix, service] as const),
    ),
  );
  const server = createServer((request, response) => {
    const target = request.headers['x-amz-target'];
    if (typeof target !== 'string') {
      if (options.fallback) return options.fallback(request, response);
      response.writeHead(404).end();
      return;
    }
    void answer(byPrefix, target, request, response);
  });
  server.keepAliveTimeout = 60_000;
  const listening = await listen(server, options);
  return {
    url: listening.url,
    port: listening.port,
    async close() {
      await listening.close();
      for (const service of options.services) await service.close();
    },
  };
}

async function answer(
  byPrefix: ReadonlyMap<string, AwsJsonService>,
  target: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const dot = target.lastIndexOf('.');
  const service = byPrefix.get(target.slice(0, dot));
  const gone = new AbortController();
  response.once('close', () => {
    // Aborting costs more than many an operation, and one that was answered has nothing left to give up.
    if (!response.writableFinished) gone.abort();
  });
  let status = 200;
  let body: unknown;
  let headers: Readonly<Record<string, string>> = {};
  try {
    const operation = service?.operations[target.slice(dot + 1)];
    if (!operation) throw new AwsError('UnknownOperationException', `unknown target ${target}`);
    const text = await readBody(request);
    body = await operation(text.length ? JSON.parse(text) : {}, { signal: gone.signal });
  } catch (error) {
    const known = error instanceof AwsError ? error : undefined;
    if (!known) console.error(`local ${target}:`, error);
    status = known?.statusCode ?? 500;
    headers = known?.headers ?? {};
    const message = error instanceof Error ? error.message : String(error);
    body = { __type: known?.type ?? 'InternalFailure', message, ...known?.extra };
  }
  if (response.destroyed) return;
  const payload = Buffer.from(JSON.stringify(body ?? {}));
  response
    .writeHead(status, {
      'content-type': `application/x-amz-json-${service?.jsonVersion ?? '1.0'}`,
      'content-length': payload.length,
      'x-amzn-requestid': randomUUID(),
      ...headers,
    })
    .end(payload);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_REQUEST_BYTES) throw new AwsError('RequestEntityTooLarge', 'request too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
