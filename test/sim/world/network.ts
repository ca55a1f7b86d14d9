import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import type { Actor, Kernel } from '../kernel/kernel.ts';
import type { Faults } from './faults.ts';
import type { Lambdas } from './lambda.ts';

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** What the authorizer verified; absent on host calls. */
  readonly caller?: { readonly tenantId: string; readonly subject: string };
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

export type HttpHandler = (
  event: APIGatewayProxyEvent,
  context: Context,
) => Promise<APIGatewayProxyResult>;

export interface Route {
  readonly name: string;
  readonly method: string;
  /** With `{runId}` where the run's id is. */
  readonly path: string;
  readonly timeoutMs: number;
  readonly handler: HttpHandler;
}

const USUAL_MS = 15;
/** Nothing says sooner that a packet was lost; who asks has a timeout of its own. */
const NEVER_MS = 3_600_000;

/** Between those who ask over HTTP (hosts, clients) and the functions that answer. */
export class Network {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #lambdas: Lambdas;
  readonly #routes: { readonly route: Route; readonly pattern: RegExp }[] = [];
  readonly #cut = new Map<Actor, number>();
  calls = 0;

  constructor(kernel: Kernel, faults: Faults, lambdas: Lambdas) {
    this.#kernel = kernel;
    this.#faults = faults;
    this.#lambdas = lambdas;
  }

  serve(routes: readonly Route[]): void {
    for (const route of routes) {
      const pattern = new RegExp(`^${route.path.replace('{runId}', '(?<runId>[^/]+)')}$`);
      this.#routes.push({ route, pattern });
    }
  }

  /** Nothing of or to this actor comes through for so long. */
  cut(actor: Actor, forMs: number): void {
    this.#kernel.note(`${actor.name} is cut off for ${forMs} ms`);
    this.#cut.set(actor, this.#kernel.now + forMs);
  }

  /** Ends every partition. */
  mend(): void {
    this.#cut.clear();
  }

  /** Rejects for faults of the network; an answer of any status is an answer. */
  ask(request: Request): Promise<Reply> {
    const kernel = this.#kernel;
    const { actor } = kernel;
    if (!actor) throw new Error('a request outside of any actor');
    this.calls += 1;
    if (this.#faults.hits('net.partition'))
      this.cut(actor, this.#faults.random.between(500, 90_000));
    return new Promise((resolve, reject) => {
      let over = false;
      const settle = (delayMs: number, how: () => void) =>
        kernel.afterFor(actor, delayMs, () => {
          if (over) return;
          over = true;
          how();
        });
      const { signal } = request;
      const abort = () => {
        over = true;
        reject(signal?.reason);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      this.#send(actor, request, {
        reply: (reply) => settle(this.#latency(), () => resolve(reply)),
        fail: (message, delayMs) =>
          settle(delayMs, () =>
            reject(Object.assign(new TypeError('fetch failed'), { cause: message })),
          ),
      });
    });
  }

  #send(
    actor: Actor,
    request: Request,
    asker: { reply(reply: Reply): void; fail(message: string, delayMs: number): void },
  ): void {
    const faults = this.#faults;
    const label = `${actor.name} ${request.method} ${request.path}`;
    const lose = (what: string) => {
      this.#kernel.note(`${label} → ${what}`);
      asker.fail(what, faults.random.chance(0.5) ? 100 : NEVER_MS);
    };
    if (this.#isCut(actor) || faults.hits('net.request_lost')) {
      lose('REQUEST LOST');
      return;
    }
    const answer = (reply: Reply) => {
      this.#kernel.note(`${label} → ${reply.status} ${reply.status < 400 ? '' : problemOf(reply)}`);
      if (this.#isCut(actor) || faults.hits('net.reply_lost')) lose('REPLY LOST');
      else asker.reply(reply);
    };
    if (faults.hits('net.server_error')) {
      const status = faults.random.pick([429, 502, 503]);
      this.#kernel.after(this.#latency(), () => answer({ status, body: '{}' }));
      return;
    }
    this.#kernel.after(this.#latency(), () => this.#serve(request, answer));
    if (faults.hits('net.request_twice')) {
      const again = this.#latency() + faults.random.between(0, 3_000);
      this.#kernel.after(again, () => this.#serve(request, () => undefined));
    }
  }

  #serve(request: Request, answer: (reply: Reply) => void): void {
    const found = this.#match(request);
    if (!found) {
      answer({ status: 404, body: '{}' });
      return;
    }
    const { route, event } = found;
    this.#lambdas.invoke(
      route.name,
      route.timeoutMs,
      (context) => route.handler(event, context),
      (invocation) =>
        answer(
          invocation.outcome === 'returned'
            ? { status: invocation.value.statusCode, body: invocation.value.body }
            : { status: invocation.outcome === 'timed_out' ? 504 : 502, body: '{}' },
        ),
    );
  }

  #match(request: Request): { route: Route; event: APIGatewayProxyEvent } | undefined {
    for (const { route, pattern } of this.#routes) {
      const match = route.method === request.method ? pattern.exec(request.path) : null;
      if (match) return { route, event: proxyEvent(request, route, match.groups?.runId) };
    }
    return undefined;
  }

  #isCut(actor: Actor): boolean {
    return (this.#cut.get(actor) ?? 0) > this.#kernel.now;
  }

  #latency(): number {
    const { random } = this.#faults;
    if (this.#faults.hits('net.slow')) return random.between(500, 25_000);
    return USUAL_MS * random.unit() * (random.chance(0.125) ? 10 : 1);
  }
}

function problemOf(reply: Reply): string {
  return /"code":"(\w+)"/.exec(reply.body)?.[1] ?? '';
}

export function proxyEvent(
  request: Request,
  route: Pick<Route, 'path'>,
  runId: string | undefined,
): APIGatewayProxyEvent {
  const { caller } = request;
  return {
    resource: route.path,
    path: request.path,
    httpMethod: request.method,
    headers: { ...request.headers },
    multiValueHeaders: {},
    queryStringParameters: request.query ? { ...request.query } : null,
    multiValueQueryStringParameters: null,
    pathParameters: runId === undefined ? null : { runId },
    stageVariables: null,
    body: request.body ?? null,
    isBase64Encoded: false,
    requestContext: {
      requestId: 'simulated',
      authorizer: caller
        ? { ...caller, scopes: '', expiresAtMs: String(Number.MAX_SAFE_INTEGER) }
        : null,
    },
  } as unknown as APIGatewayProxyEvent;
}
