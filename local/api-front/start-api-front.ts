import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '#local/http/listen.ts';
import type { LambdaInvoker } from '#local/lambda/index.ts';
import { authorize } from './authorize.ts';
import { type Refusal, sendProblem } from './problem.ts';
import { type ApiPlace, type RoutedRequest, toProxyEvent } from './proxy-event.ts';
import { readProxyResponse, sendProxyResponse } from './proxy-response.ts';
import { readBody } from './request-body.ts';
import { RouteTable } from './route-table.ts';
import { streamResponse } from './streamed-response.ts';

export interface ApiRoute {
  /** Upper case, or `ANY`. */
  readonly method: string;
  /** For example `/v1/runs/{runId}` or `/files/{path+}`. */
  readonly path: string;
  readonly invoke: LambdaInvoker;
  /** The name of an authorizer; without one the route is open. */
  readonly auth?: string | undefined;
  /** The function streams its answer. */
  readonly streaming?: boolean | undefined;
}

export interface ApiFrontOptions {
  readonly routes: readonly ApiRoute[];
  readonly authorizers: Readonly<Record<string, LambdaInvoker>>;
  /** Any free port by default. */
  readonly port?: number;
  /** 127.0.0.1 by default. */
  readonly host?: string;
  /** 10 MiB by default, as API Gateway has it. */
  readonly maxBodyBytes?: number;
  /** How long a function may take to answer; 29 s by default. */
  readonly timeoutMs?: number;
  /** How long a streamed answer may take in all; 15 minutes by default. */
  readonly streamTimeoutMs?: number;
  /** How long a stream may be silent; 5 minutes by default. */
  readonly streamIdleTimeoutMs?: number;
  /** Request bodies of these types reach the function as base64; none by default. */
  readonly binaryMediaTypes?: readonly string[];
  readonly place?: Partial<ApiPlace>;
  /** Asked first; true when it has taken the request and will answer it. */
  readonly extra?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export interface ApiFront {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Cuts open streams and resolves when no request is under way. */
  close(): Promise<void>;
}

/** API Gateway allows 10,240 bytes for all headers together. */
const MAX_HEADER_BYTES = 10_240;
const MAX_HEADERS = 200;

/**
 * An HTTP server that calls functions as an API Gateway REST API with Lambda proxy integration does. What it
 * answers by itself is a problem document. No CORS, no caching, no throttling.
 */
export async function startApiFront(options: ApiFrontOptions): Promise<ApiFront> {
  const front = new Front(options);
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) =>
    front.take(request, response),
  );
  server.maxHeadersCount = MAX_HEADERS;
  // Above what clients keep idle connections for: they, not we, close a connection they may be about to use.
  server.keepAliveTimeout = 75_000;
  const listening = await listen(server, options);
  return {
    url: listening.url,
    port: listening.port,
    async close() {
      await listening.close();
      await front.idle();
    },
  };
}

class Front {
  readonly #options: ApiFrontOptions;
  readonly #routes: RouteTable<ApiRoute>;
  readonly #place: ApiPlace;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ApiFrontOptions) {
    for (const { auth, method, path } of options.routes) {
      if (auth !== undefined && !Object.hasOwn(options.authorizers, auth)) {
        throw new Error(`${method} ${path} needs the authorizer ${auth}, which is not there`);
      }
    }
    this.#options = options;
    this.#routes = new RouteTable(options.routes);
    this.#place = {
      region: 'us-east-1',
      accountId: '000000000000',
      apiId: 'local',
      stage: 'local',
      ...options.place,
    };
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    // A client that leaves is nobody's error.
    response.on('error', () => {});
    if (this.#options.extra?.(request, response)) return;
    const requestId = randomUUID();
    const work = this.#answer(request, response, requestId)
      .catch((error: unknown) => {
        console.error(`api: ${request.method} ${request.url}:`, error);
        if (response.headersSent) response.destroy();
        else sendProblem(response, requestId, { code: 'internal' });
      })
      .finally(() => this.#underWay.delete(work));
    this.#underWay.add(work);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #answer(
    message: IncomingMessage,
    response: ServerResponse,
    requestId: string,
  ): Promise<void> {
    const receivedAtMs = Date.now();
    const refuse = (refusal: Refusal) => {
      // Taken in and thrown away: a client that is still sending would not read an answer before a reset.
      message.resume();
      sendProblem(response, requestId, refusal);
    };
    const [path = '/', search = ''] = splitOnce(message.url ?? '/', '?');
    const match = this.#routes.find(message.method ?? 'GET', path);
    if (match.kind === 'no_path') return refuse({ code: 'route_not_found' });
    if (match.kind === 'bad_encoding') return refuse({ code: 'invalid_request' });
    if (match.kind === 'no_method') {
      return refuse({ code: 'method_not_allowed', headers: { allow: match.allowed.join(', ') } });
    }
    const query = parseQuery(search);
    if (!query) return refuse({ code: 'invalid_request' });
    const { route, pathParameters } = match;
    const request: RoutedRequest = {
      message,
      requestId,
      receivedAtMs,
      path,
      query,
      resource: route.path,
      pathParameters,
    };

    const read = await readBody(message, this.#options.maxBodyBytes ?? 10 * 1024 * 1024);
    if (read.kind === 'aborted') return;
    if (read.kind === 'too_large') return refuse({ code: 'payload_too_large' });
    let authorizer: Readonly<Record<string, unknown>> | undefined;
    const authorizing =
      route.auth === undefined ? undefined : this.#options.authorizers[route.auth];
    if (authorizing) {
      const authorization = await authorize(authorizing, request, this.#place);
      if (authorization.kind === 'refused') return refuse(authorization.refusal);
      authorizer = authorization.context;
    }
    const event = toProxyEvent(request, this.#place, read.body, {
      authorizer,
      binaryMediaTypes: this.#options.binaryMediaTypes ?? [],
    });
    response.setHeader('x-amzn-requestid', requestId);
    const failed = route.streaming
      ? await this.#stream(route, event, response)
      : await this.#call(route, event, response);
    if (failed) refuse(failed);
  }

  async #call(
    route: ApiRoute,
    event: unknown,
    response: ServerResponse,
  ): Promise<Refusal | undefined> {
    const timeout = Promise.withResolvers<'timeout'>();
    const timer = setTimeout(() => timeout.resolve('timeout'), this.#options.timeoutMs ?? 29_000);
    const outcome = await Promise.race([route.invoke.invoke(event), timeout.promise]);
    clearTimeout(timer);
    if (outcome === 'timeout') return { code: 'internal', status: 504 };
    if (outcome.status === 'error') {
      const tooLarge = outcome.error.errorType === 'RequestTooLargeException';
      return tooLarge ? { code: 'payload_too_large' } : { code: 'internal', status: 502 };
    }
    const answer = readProxyResponse(outcome.payload);
    try {
      if (!answer) throw new Error('not of the form { statusCode, headers, body }');
      sendProxyResponse(response, answer);
      return undefined;
    } catch (error) {
      const start = outcome.payload.slice(0, 200);
      console.error(`api: ${route.invoke.name} gave a malformed answer: ${start}:`, error);
      return { code: 'internal', status: 502 };
    }
  }

  async #stream(
    route: ApiRoute,
    event: unknown,
    response: ServerResponse,
  ): Promise<Refusal | undefined> {
    const end = await streamResponse(route.invoke, event, response, {
      totalMs: this.#options.streamTimeoutMs ?? 15 * 60_000,
      idleMs: this.#options.streamIdleTimeoutMs ?? 5 * 60_000,
    });
    if (end.kind === 'over') return undefined;
    return { code: 'internal', status: end.reason === 'timeout' ? 504 : 502 };
  }
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** `URLSearchParams` reads wrong percent-encoding as text; the gateway refuses it. */
function parseQuery(search: string): URLSearchParams | undefined {
  try {
    decodeURIComponent(search.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
  return new URLSearchParams(search);
}
