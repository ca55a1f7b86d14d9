import type { z } from 'zod';
import { type Problem, problemSchema } from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type ClientClock, sleep, within } from './client-clock.ts';
import { ApiError, ConnectionError, isTransient, ReplyError } from './client-error.ts';
import { lenient } from './lenient-schema.ts';

/** A fixed token, or where to get one. Asked before every request: the source decides what to keep. */
export type TokenSource = string | (() => Promise<string>);

export interface TransportOptions {
  readonly baseUrl: string;
  readonly token: TokenSource;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: ClientClock;
  readonly random: () => number;
  /** For a whole reply; for a stream, until its headers. */
  readonly requestTimeoutMs: number;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** `none`: no token is sent. */
  readonly auth?: 'token' | 'none';
  /** Statuses beside 2xx whose JSON body is an answer, not a problem. */
  readonly answers?: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

export interface ApiReply<T> {
  readonly value: T;
  readonly headers: Headers;
}

const MAX_SENDS = 4;
const RETRY_BACKOFF = { baseMs: 300, maxMs: 5_000 };
/** A server that asks for more patience than this gets none: the caller is told instead. */
const MAX_RETRY_AFTER_MS = 60_000;
const MAX_PROBLEM_CHARS = 64 * 1024;

/**
 * Requests to one API with one token source: authorisation, time limits, bounded repetition and errors.
 * Every request made here may be repeated: reads by nature, writes because the API makes them idempotent.
 */
export class HttpTransport {
  readonly #options: TransportOptions;
  readonly #base: string;

  constructor(options: TransportOptions) {
    this.#options = options;
    this.#base = checkedBase(options.baseUrl);
  }

  /**
   * Sends, repeats after transient faults (waiting as `Retry-After` says, else with growing random pauses), and
   * parses the reply.
   * @throws ApiError, ConnectionError, ReplyError, or the signal's reason
   */
  async json<T extends z.ZodType>(request: ApiRequest, schema: T): Promise<ApiReply<z.output<T>>> {
    for (let sends = 1; ; sends += 1) {
      try {
        const { status, headers, text } = await this.#exchange(request);
        return { value: parseReply(request, status, text, schema), headers };
      } catch (error) {
        request.signal?.throwIfAborted();
        if (sends >= MAX_SENDS || !isTransient(error)) throw error;
        const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
        if (asked > MAX_RETRY_AFTER_MS) throw error;
        const pause = backoffMs(sends - 1, RETRY_BACKOFF, this.#options.random);
        await sleep(this.#options.clock, Math.max(asked, pause), request.signal);
      }
    }
  }

  /** One try at a streamed reply; the caller reads its body. Errors as {@link json}, but nothing is repeated. */
  async open(request: ApiRequest): Promise<Response> {
    return this.#send(request);
  }

  async #exchange(request: ApiRequest) {
    const { clock, requestTimeoutMs } = this.#options;
    const cut = new AbortController();
    const signal = request.signal ? AbortSignal.any([request.signal, cut.signal]) : cut.signal;
    const work = async () => {
      const response = await this.#send({ ...request, signal });
      return { status: response.status, headers: response.headers, text: await bodyText(response) };
    };
    try {
      return await within(clock, requestTimeoutMs, work(), () =>
        tooLate(request, requestTimeoutMs),
      );
    } finally {
      cut.abort();
    }
  }

  /** A token that was refused is asked for anew, once: it may just have expired. */
  async #send(request: ApiRequest): Promise<Response> {
    const token = await this.#token(request);
    const response = await this.#fetch(request, token);
    if (response.ok || isAnswer(request, response)) return response;
    const error = await this.#refusal(response);
    if (error.status !== 401 || token === undefined) throw error;
    const fresh = await this.#token(request);
    if (fresh === token) throw error;
    const second = await this.#fetch(request, fresh);
    if (second.ok) return second;
    throw await this.#refusal(second);
  }

  async #token(request: ApiRequest): Promise<string | undefined> {
    if (request.auth === 'none') return undefined;
    const { token } = this.#options;
    return typeof token === 'string' ? token : token();
  }

  async #fetch(request: ApiRequest, token: string | undefined): Promise<Response> {
    const url = new URL(this.#base + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const headers = new Headers({ accept: 'application/json', ...request.headers });
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    const body = request.body === undefined ? null : JSON.stringify(request.body);
    if (body !== null) headers.set('content-type', 'application/json');
    try {
      return await this.#options.fetch(url, {
        method: request.method,
        headers,
        body,
        // The API never redirects, and a token must not follow to wherever something else points.
        redirect: 'error',
        signal: request.signal ?? null,
      });
    } catch (error) {
      request.signal?.throwIfAborted();
      throw new ConnectionError(`no answer from ${url.origin}: ${reasonOf(error)}`, error);
    }
  }

  async #refusal(response: Response): Promise<ApiError> {
    const retryAfter = parseRetryAfter(
      response.headers.get('retry-after'),
      this.#options.clock.now(),
    );
    return new ApiError(problemOf(response, await bodyText(response)), retryAfter);
  }
}

function checkedBase(baseUrl: string): string {
  const url = URL.parse(baseUrl);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.search || url.hash) {
    throw new TypeError(
      `the API's address must be an http or https URL, not ${JSON.stringify(baseUrl)}`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

function isAnswer({ answers }: ApiRequest, response: Response): boolean {
  const type = response.headers.get('content-type') ?? '';
  return answers?.includes(response.status) === true && /^application\/json\b/i.test(type);
}

async function bodyText(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw new ConnectionError('the reply was cut', error);
  }
}

function parseReply<T extends z.ZodType>(
  request: ApiRequest,
  status: number,
  text: string,
  schema: T,
): z.output<T> {
  const what = `the reply to ${request.method} ${request.path} (HTTP ${status})`;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ReplyError(`${what} is not JSON; is this a NexusDesk API?`, error);
  }
  const parsed = lenient(schema).safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const place = issue?.path.join('.') || 'the whole';
  throw new ReplyError(`${what} does not follow the contract at ${place}: ${issue?.message}`);
}

function problemOf(response: Response, text: string): Problem {
  const { status } = response;
  const requestId = response.headers.get('x-request-id') ?? undefined;
  try {
    const problem = problemSchema.safeParse(JSON.parse(text.slice(0, MAX_PROBLEM_CHARS)));
    if (problem.success) return { requestId, ...problem.data, status };
  } catch {
    // Not JSON: a proxy or another service answered. The status is all there is to go by.
  }
  const title = `HTTP ${status}${response.statusText ? ` ${response.statusText}` : ''}`;
  return {
    type: 'about:blank',
    title,
    status,
    detail: `the server answered ${title} without an explanation`,
    code: `http_${status}`,
    requestId,
  };
}

/** Seconds or an HTTP date, in milliseconds from now; undefined for anything else. */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  const at = /^[A-Z][a-z]{2}, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

function tooLate(request: ApiRequest, ms: number): ConnectionError {
  return new ConnectionError(
    `no answer to ${request.method} ${request.path} within ${ms / 1000} s`,
  );
}

/** The part of a fetch failure that says something: undici puts it into the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof Error) {
    return 'code' in cause && typeof cause.code === 'string'
      ? `${cause.message || 'connection failed'} (${cause.code})`
      : cause.message;
  }
  return error instanceof Error ? error.message : String(error);
}
