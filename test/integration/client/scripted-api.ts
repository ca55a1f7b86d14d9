import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** One act of the script: answers one request as it likes, or never. */
export type Act = (response: ServerResponse, request: SeenRequest) => void | Promise<void>;

/**
 * A real HTTP server that plays a script: each route has a list of acts, one for each request in turn; the last one
 * serves all further requests. What is not in the script is answered with 404.
 */
export class ScriptedApi {
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  readonly #acts = new Map<string, Act[]>();
  readonly #arrivals = new Map<string, PromiseWithResolvers<SeenRequest>[]>();
  readonly requests: SeenRequest[] = [];
  url = '';

  static async start(): Promise<ScriptedApi> {
    const api = new ScriptedApi();
    api.#server.listen(0, '127.0.0.1');
    await once(api.#server, 'listening');
    api.url = `http://127.0.0.1:${(api.#server.address() as AddressInfo).port}`;
    return api;
  }

  on(route: string, ...acts: readonly Act[]): this {
    this.#acts.set(route, [...acts]);
    return this;
  }

  /** All requests to a route so far. */
  seen(route: string): SeenRequest[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === route);
  }

  /** Resolves with the `nth` request to a route (from 1), when it arrives or at once. */
  arrival(route: string, nth = 1): Promise<SeenRequest> {
    return this.#arrival(route, nth - 1).promise;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #arrival(route: string, index: number): PromiseWithResolvers<SeenRequest> {
    const arrivals = this.#arrivals.get(route) ?? [];
    this.#arrivals.set(route, arrivals);
    while (arrivals.length <= index) arrivals.push(Promise.withResolvers<SeenRequest>());
    return arrivals[index]!;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', 'http://api');
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Uint8Array);
    const text = Buffer.concat(chunks).toString('utf8');
    const seen: SeenRequest = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: incoming.headers,
      body: text ? JSON.parse(text) : undefined,
    };
    const route = `${seen.method} ${seen.path}`;
    this.requests.push(seen);
    this.#arrival(route, this.seen(route).length - 1).resolve(seen);
    const acts = this.#acts.get(route) ?? [problem(404, 'route_not_found')];
    const act = acts.length > 1 ? acts.shift() : acts[0];
    await act?.(response, seen);
  }
}

export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Act =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

export const problem =
  (
    status: number,
    code: string,
    extra: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Act =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
    const detail = `scripted ${code}`;
    response.end(
      JSON.stringify({ type: 'about:blank', title: code, status, detail, code, ...extra }),
    );
  };

/** Ends the TCP connection without a word. */
export const reset: Act = (response) => void response.socket?.destroy();

export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
}

/** Streams the text and ends in good order, final event or not. */
export const stream =
  (...texts: readonly string[]): Act =>
  (response) => {
    openStream(response);
    response.end(texts.join(''));
  };

/** Streams the text and stays open, silently. */
export const hangingStream =
  (...texts: readonly string[]): Act =>
  (response) => {
    openStream(response);
    response.write(texts.join(''));
  };

/** Streams the text, and when that has been sent cuts the connection. */
export const cutStream =
  (...texts: readonly string[]): Act =>
  (response) => {
    openStream(response);
    response.write(texts.join(''), () => response.socket?.destroy());
  };
