import type { z } from 'zod';
import {
  type AppendReply,
  type AppendRequest,
  appendReplySchema,
  type ClaimReply,
  type ClaimRequest,
  claimReplySchema,
  type HeartbeatReply,
  heartbeatReplySchema,
  type ResultReply,
  type ResultRequest,
  resultReplySchema,
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

/** The gateway could not be reached, or failed, for longer than the host may wait. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable';
}

export interface GatewayClientOptions {
  readonly baseUrl: string;
  readonly clock: Clock;
  /** How long one call is tried again after network faults, 429 and 5xx. */
  readonly retryForMs: number;
  readonly requestTimeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** For the jitter between tries. Default Math.random. */
  readonly random?: () => number;
}

const REQUEST_TIMEOUT_MS = 20_000;
const MAX_PAUSE_MS = 2_000;
const MAX_REPLY_DETAIL = 500;

/**
 * The host's only way out: HTTPS to the host gateway. Every call may be repeated: appends and results carry
 * identities, so a repeat of one whose reply was lost is acknowledged, not stored again.
 */
export class GatewayClient {
  readonly #options: GatewayClientOptions;
  readonly #fetch: typeof fetch;

  constructor(options: GatewayClientOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? fetch;
  }

  claim(ticket: string, request: ClaimRequest): Promise<ClaimReply> {
    return this.#call('/host/v1/claim', ticket, request, claimReplySchema);
  }

  append(
    token: string,
    runId: string,
    request: AppendRequest,
    signal?: AbortSignal,
  ): Promise<AppendReply> {
    return this.#call(`/host/v1/runs/${runId}/events`, token, request, appendReplySchema, signal);
  }

  heartbeat(
    token: string,
    runId: string,
    state: { state: string; rssBytes?: number },
    signal?: AbortSignal,
  ): Promise<HeartbeatReply> {
    return this.#call(
      `/host/v1/runs/${runId}/heartbeat`,
      token,
      state,
      heartbeatReplySchema,
      signal,
    );
  }

  result(token: string, runId: string, request: ResultRequest): Promise<ResultReply> {
    return this.#call(`/host/v1/runs/${runId}/result`, token, request, resultReplySchema);
  }

  /** @throws AuthorityLost for 4xx but 429, GatewayUnreachable after `retryForMs` */
  async #call<T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    schema: T,
    signal?: AbortSignal,
  ): Promise<z.infer<T>> {
    const giveUpAt = this.#options.clock.now() + this.#options.retryForMs;
    for (let attempt = 0; ; attempt += 1) {
      const problem = await this.#attempt(path, token, body, schema, signal);
      if ('reply' in problem) return problem.reply;
      signal?.throwIfAborted();
      if (this.#options.clock.now() >= giveUpAt) {
        throw new GatewayUnreachable(
          `gateway failed for ${this.#options.retryForMs} ms: ${problem.why}`,
        );
      }
      await pause(
        50 + backoffMs(attempt, { baseMs: 100, maxMs: MAX_PAUSE_MS }, this.#options.random),
        signal,
      );
    }
  }

  async #attempt<T extends z.ZodType>(
    path: string,
    token: string,
    body: unknown,
    schema: T,
    signal: AbortSignal | undefined,
  ): Promise<{ reply: z.infer<T> } | { why: string }> {
    const { requestTimeoutMs = REQUEST_TIMEOUT_MS } = this.#options;
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
    if (response.ok) {
      const parsed = schema.safeParse(parseJson(text));
      return parsed.success
        ? { reply: parsed.data }
        : { why: `reply of ${path} is not understood` };
    }
    if (response.status === 429 || response.status >= 500)
      return { why: `status ${response.status}` };
    throw new AuthorityLost(response.status, text.slice(0, MAX_REPLY_DETAIL));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
