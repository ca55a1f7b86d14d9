import type { z } from 'zod';
import {
  type AppendReply,
  type AppendRequest,
  appendReplySchema,
  type ClaimReply,
  type ClaimRequest,
  claimReplySchema,
  type HeartbeatReply,
  type HeartbeatRequest,
  heartbeatReplySchema,
  type ResultReply,
  type ResultRequest,
  resultReplySchema,
  type UploadBlobReply,
  type UploadBlobRequest,
  uploadBlobReplySchema,
} from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import type { Clock } from '#shared/kit/clock.ts';

/** The platform no longer listens to this host: kill the engine and exit. Nothing will change that (B50). */
export class AuthorityLost extends Error {
  override readonly name = 'AuthorityLost';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The gateway will never take this content. That says nothing about the host's authority. */
export class GatewayRefused extends Error {
  override readonly name = 'GatewayRefused';
  readonly status: number;
  /** Of the platform's problem document, when it is one. */
  readonly code: string | undefined;

  constructor(status: number, code: string | undefined, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The gateway could not be reached, or failed, for longer than the caller waits. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
}

export interface GatewayClientOptions {
  readonly baseUrl: string;
  readonly clock: Clock;
  /** How long one call is tried again after faults that pass, unless the call says otherwise. */
  readonly retryForMs: number;
  readonly requestTimeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** For the jitter between tries. Default Math.random. */
  readonly random?: () => number;
}

export interface CallOptions {
  /** Aborted: the caller wants no answer any more; the call rejects with its reason. */
  readonly signal?: AbortSignal;
  /** Infinity: until the answer or the signal comes. 0: once. */
  readonly retryForMs?: number;
  readonly requestTimeoutMs?: number;
}

const REQUEST_TIMEOUT_MS = 20_000;
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5_000;
const MAX_REPLY_DETAIL = 500;
const AUTHORITY_LOST: readonly number[] = [401, 403, 404, 409, 410];
/** Such an answer without the platform's problem document is of somebody else, who is on the gateway's place. */
const STRANGER_MS = 30_000;
/** A route that is missing is a deployment that is not whole, and says nothing of this host. */
const ROUTE_MISSING = 'route_not_found';
/** Request timeout, too early, too many requests: the same request may succeed later. */
const PASSES: readonly number[] = [408, 425, 429];

/**
 * The host's only way out: HTTPS to the host gateway. Every call may be repeated: appends and results carry
 * identities, so a repeat of one whose reply was lost is acknowledged, not stored again.
 *
 * Each method @throws AuthorityLost, GatewayRefused, GatewayUnreachable, or the reason of its signal
 */
export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #fetch: typeof fetch;
  #strangeSince: number | undefined;

  constructor(options: GatewayClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
  }

  /** Longest time from a request to its answer. */
  get requestTimeoutMs(): number {
    return this.#options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  claim(ticket: string, request: ClaimRequest, options?: CallOptions): Promise<ClaimReply> {
    return this.#call('/host/v1/claim', ticket, request, claimReplySchema, options);
  }

  append(
    token: string,
    runId: string,
    request: AppendRequest,
    options?: CallOptions,
  ): Promise<AppendReply> {
    return this.#call(`/host/v1/runs/${runId}/events`, token, request, appendReplySchema, options);
  }

  uploadBlob(
    token: string,
    runId: string,
    request: UploadBlobRequest,
    options?: CallOptions,
  ): Promise<UploadBlobReply> {
    const path = `/host/v1/runs/${runId}/blobs`;
    return this.#call(path, token, request, uploadBlobReplySchema, options);
  }

  heartbeat(
    token: string,
    runId: string,
    request: HeartbeatRequest,
    options?: CallOptions,
  ): Promise<HeartbeatReply> {
    const path = `/host/v1/runs/${runId}/heartbeat`;
    return this.#call(path, token, request, heartbeatReplySchema, options);
  }

  result(
    token: string,
    runId: string,
    request: ResultRequest,
    options?: CallOptions,
  ): Promise<ResultReply> {
    return this.#call(`/host/v1/runs/${runId}/result`, token, request, resultReplySchema, options);
  }

  async #call<T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    schema: T,
    options: CallOptions = {},
  ): Promise<z.infer<T>> {
    const { signal, retryForMs = this.#options.retryForMs } = options;
    const { clock, random } = this.#options;
    const giveUpAt = clock.now() + retryForMs;
    for (let attempt = 0; ; attempt += 1) {
      signal?.throwIfAborted();
      const problem = await this.#attempt(path, token, body, schema, options);
      if ('reply' in problem) return problem.reply;
      signal?.throwIfAborted();
      if (clock.now() >= giveUpAt) {
        throw new GatewayUnreachable(`gateway failed for ${retryForMs} ms: ${problem.why}`);
      }
      const backoff = backoffMs(attempt, { baseMs: 100, maxMs: MAX_PAUSE_MS }, random);
      await pause(MIN_PAUSE_MS + backoff, signal);
    }
  }

  async #attempt<T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    schema: T,
    { signal, requestTimeoutMs = this.requestTimeoutMs }: CallOptions,
  ): Promise<{ reply: z.infer<T> } | { why: string }> {
    // Not AbortSignal.timeout: that timer cannot be simulated.
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new Error(`no answer within ${requestTimeoutMs} ms`)),
      requestTimeoutMs,
    );
    let response: Response;
    let text: string;
    try {
      // Joined as text: the gateway's own path (its API stage) must stay.
      response = await this.#fetch(`${this.#options.baseUrl.replace(/\/$/, '')}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: signal ? AbortSignal.any([late.signal, signal]) : late.signal,
        redirect: 'error',
      });
      text = await response.text();
    } catch (error) {
      return { why: error instanceof Error ? error.message : 'unknown network fault' };
    } finally {
      clearTimeout(timer);
    }
    const { status } = response;
    if (response.ok) {
      this.#strangeSince = undefined;
      const parsed = schema.safeParse(parseJson(text));
      return parsed.success
        ? { reply: parsed.data }
        : { why: `reply of ${path} is not understood` };
    }
    const code = codeOf(text);
    if (AUTHORITY_LOST.includes(status) && code !== ROUTE_MISSING) {
      if (code !== undefined || this.#isStrangeForLong()) {
        throw new AuthorityLost(status, text.slice(0, MAX_REPLY_DETAIL));
      }
      return { why: `status ${status} of a stranger` };
    }
    this.#strangeSince = undefined;
    if (status >= 500 || status < 400 || PASSES.includes(status) || code === ROUTE_MISSING) {
      return { why: `status ${status}` };
    }
    throw new GatewayRefused(status, code, text.slice(0, MAX_REPLY_DETAIL));
  }

  #isStrangeForLong(): boolean {
    const now = this.#options.clock.now();
    this.#strangeSince ??= now;
    return now - this.#strangeSince >= STRANGER_MS;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(text: string): string | undefined {
  const code = (parseJson(text) as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Resolves after `ms`, or at once when the signal is aborted. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}
