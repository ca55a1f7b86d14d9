import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  type AgentEvent,
  type CancelledRun,
  type CancelRunRequest,
  type CancelRunsReply,
  type CancelRunsRequest,
  type CreateRunRequest,
  cancelRunsReplySchema,
  type EngineList,
  type EventPage,
  type ExecutionHandle,
  engineListSchema,
  eventPageSchema,
  executionHandleSchema,
  healthSchema,
  isTerminal,
  type RunId,
  type RunList,
  type RunStatus,
  type RunSummary,
  type RunView,
  runIdSchema,
  runListSchema,
  runStatusSchema,
  runViewSchema,
  type UsageReport,
  type UsageReportQuery,
  usageReportSchema,
} from '#shared/contracts/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { type CancelScope, type CancelSummary, cancelUntilNoneIsLeft } from './cancel-all.ts';
import { type ClientClock, sleep, systemClientClock } from './client-clock.ts';
import { ReplyError } from './client-error.ts';
import { type ApiRequest, HttpTransport, type TokenSource } from './http-transport.ts';
import { type EventLogSource, type ResumePoint, RunEventFollower } from './run-event-follower.ts';

export type Health = z.infer<typeof healthSchema>;

const cancelReceiptSchema = z.object({ runId: runIdSchema, status: runStatusSchema });
/** The run as it was when its cancellation was accepted. */
export type CancelReceipt = z.infer<typeof cancelReceiptSchema>;

export interface ClientOptions {
  /** Address of the API, with its stage path if it has one: `https://host/stage`. */
  readonly baseUrl: string;
  readonly token: TokenSource;
  readonly fetch?: typeof globalThis.fetch;
  readonly clock?: ClientClock;
  /** Source of the jitter, 0 to 1. */
  readonly random?: () => number;
  /** Default 30 s. */
  readonly requestTimeoutMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface CancelAllOptions extends CallOptions {
  /** Shown in the events of the runs. */
  readonly reason?: string | undefined;
  /** Called with each run when it is known what happened to it. */
  readonly onRun?: ((run: CancelledRun) => void) | undefined;
}

export interface RunListQuery {
  /** Live statuses alone give every such run, in no order; all else comes newest first. */
  readonly status?: RunStatus | readonly RunStatus[] | undefined;
  /** Runs in one page. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface EventListQuery {
  readonly cursor?: string | undefined;
  /** Events in one page. */
  readonly limit?: number | undefined;
}

export interface StreamOptions extends CallOptions {
  /** Read behind this place; left out: from the first event. */
  readonly cursor?: string | undefined;
  /** Called with the cursor that resumes behind what was read. */
  readonly onCursor?: ((cursor: string) => void) | undefined;
}

export interface HealthProbe {
  readonly health: Health;
  /** What the server's clock said, in milliseconds since the epoch, to the second; absent without a `Date` header. */
  readonly serverTimeMs: number | undefined;
  /** Our clock before the request was sent and after its reply came. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
}

const STREAM_IDLE_MS = 45_000;
const MAX_FRUITLESS_CONNECTIONS = 10;
const CANCEL_BACKOFF = { baseMs: 300, maxMs: 2_000 };
const POLL = { firstMs: 250, maxMs: 5_000 };
/** What may stand in a header as it is. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/**
 * Client of the NexusDesk API. Every method throws `ApiError` (the API refused), `ConnectionError` (no reply),
 * `ReplyError` (not this API's contract) or the reason of its signal. Reads and idempotent writes are repeated after
 * transient faults, a bounded number of times. Fields that this version does not know are left out of replies.
 *
 * @example
 * const client = new NexusDeskClient({ baseUrl, token });
 * const { executionId } = await client.createRun({ engine: { id: 'acme' }, input: { prompt } });
 * for await (const event of client.streamEvents(executionId)) console.log(event.eventType);
 */
export class NexusDeskClient {
  readonly #transport: HttpTransport;
  readonly #clock: ClientClock;
  readonly #random: () => number;

  constructor(options: ClientOptions) {
    this.#clock = options.clock ?? systemClientClock;
    this.#random = options.random ?? Math.random;
    this.#transport = new HttpTransport({
      baseUrl: options.baseUrl,
      token: options.token,
      fetch: options.fetch ?? globalThis.fetch,
      clock: this.#clock,
      random: this.#random,
      requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    });
  }

  /**
   * Accepts a run. The key makes repeating harmless: the same key and body always name the same run, so a caller who
   * got no answer can call again with its own key and find out. Left out, a random one serves this call's repeats.
   */
  async createRun(
    body: CreateRunRequest,
    options: CallOptions & { idempotencyKey?: string } = {},
  ): Promise<ExecutionHandle> {
    const headers = { 'idempotency-key': options.idempotencyKey ?? randomUUID() };
    const request = { method: 'POST', path: '/v1/runs', body, headers } as const;
    const reply = await this.#transport.json(
      { ...request, signal: options.signal },
      executionHandleSchema,
    );
    return reply.value;
  }

  async getRun(runId: RunId, { signal }: CallOptions = {}): Promise<RunView> {
    return this.#get(runPath(runId), runViewSchema, {}, signal);
  }

  /** One page of runs. It may be short, or empty, while there is a next cursor. */
  async listRunsPage(query: RunListQuery = {}, { signal }: CallOptions = {}): Promise<RunList> {
    const status = query.status === undefined ? undefined : [query.status].flat().join(',');
    return this.#get('/v1/runs', runListSchema, { ...query, status }, signal);
  }

  /** All runs from the cursor on; pages are fetched as they are needed. */
  async *listRuns(
    query: RunListQuery = {},
    options: CallOptions = {},
  ): AsyncGenerator<RunSummary, void, undefined> {
    let cursor = query.cursor;
    do {
      const page: RunList = await this.listRunsPage({ ...query, cursor }, options);
      yield* page.runs;
      if (page.nextCursor !== undefined && page.nextCursor === cursor) {
        throw new ReplyError(
          'the list of runs does not advance: its next cursor is the same again',
        );
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  /**
   * Asks for cancellation and says what the run was then; it ends later (see {@link waitForRun}). Asking again is no
   * error, also when it has ended cancelled; a run that ended otherwise is refused with `already_terminal`.
   */
  async cancelRun(
    runId: RunId,
    body: CancelRunRequest = {},
    { signal }: CallOptions = {},
  ): Promise<CancelReceipt> {
    const path = `${runPath(runId)}/cancel`;
    const request = { method: 'POST', path, body, signal } as const;
    return (await this.#transport.json(request, cancelReceiptSchema)).value;
  }

  /** Cancels one page of the runs that have not ended. Repeating it is harmless. */
  async cancelRuns(
    body: CancelRunsRequest,
    { signal }: CallOptions = {},
  ): Promise<CancelRunsReply> {
    const request = { method: 'POST', path: '/v1/runs/cancel', body, signal } as const;
    return (await this.#transport.json(request, cancelRunsReplySchema)).value;
  }

  /**
   * Cancels all runs that have not ended, those too that begin or move meanwhile: goes through them again until nothing
   * was left to do. The runs end later, as after {@link cancelRun}.
   */
  async cancelAllRuns(
    scope: CancelScope,
    { reason, onRun, signal }: CancelAllOptions = {},
  ): Promise<CancelSummary> {
    const body = { ...scope, ...(reason === undefined ? {} : { reason }) };
    return cancelUntilNoneIsLeft(
      (cursor) => this.cancelRuns({ ...body, ...(cursor ? { cursor } : {}) }, { signal }),
      (pass) => sleep(this.#clock, backoffMs(pass, CANCEL_BACKOFF, this.#random), signal),
      onRun,
    );
  }

  /** One page of a run's stored events. */
  async listEvents(
    runId: RunId,
    query: EventListQuery = {},
    { signal }: CallOptions = {},
  ): Promise<EventPage> {
    return this.#get(`${runPath(runId)}/events`, eventPageSchema, { ...query }, signal);
  }

  /**
   * A run's events, stored and live, each once and in order, up to its final event. Reconnects and resumes by itself;
   * only an iteration that ended without an error has seen the final event.
   * @throws StreamError when the stream cannot be resumed or events are missing for good
   */
  streamEvents(
    runId: RunId,
    { cursor, signal, onCursor }: StreamOptions = {},
  ): AsyncGenerator<AgentEvent, void, undefined> {
    const follower = new RunEventFollower(this.#eventLog(runId), {
      runId,
      cursor,
      signal,
      onCursor,
      clock: this.#clock,
      random: this.#random,
      idleMs: STREAM_IDLE_MS,
      maxFruitless: MAX_FRUITLESS_CONNECTIONS,
    });
    return follower.events();
  }

  /** The run when it has ended, however it ended. Asks at growing intervals, up to every 5 s, until the signal aborts. */
  async waitForRun(runId: RunId, options: CallOptions = {}): Promise<RunView> {
    for (let pauseMs = POLL.firstMs; ; pauseMs = Math.min(pauseMs * 2, POLL.maxMs)) {
      const run = await this.getRun(runId, options);
      if (isTerminal(run.status)) return run;
      await sleep(this.#clock, pauseMs, options.signal);
    }
  }

  async listEngines({ signal }: CallOptions = {}): Promise<EngineList> {
    return this.#get('/v1/engines', engineListSchema, {}, signal);
  }

  /** One page of the tenant's usage by day or by agent. */
  async getUsage(query: UsageReportQuery = {}, { signal }: CallOptions = {}): Promise<UsageReport> {
    return this.#get('/v1/usage', usageReportSchema, { ...query }, signal);
  }

  async getHealth(options: CallOptions = {}): Promise<Health> {
    return (await this.probeHealth(options)).health;
  }

  /** The health and, beside it, what is needed to compare clocks. Sends no token. */
  async probeHealth({ signal }: CallOptions = {}): Promise<HealthProbe> {
    const sentAtMs = this.#clock.now();
    const request = {
      method: 'GET',
      path: '/v1/health',
      auth: 'none',
      // A degraded service says so with 503, and what is degraded in the same body.
      answers: [503],
      signal,
    } as const;
    const { value, headers } = await this.#transport.json(request, healthSchema);
    const date = Date.parse(headers.get('date') ?? '');
    return {
      health: value,
      serverTimeMs: Number.isNaN(date) ? undefined : date,
      sentAtMs,
      receivedAtMs: this.#clock.now(),
    };
  }

  #eventLog(runId: RunId): EventLogSource {
    return {
      readPage: (cursor, signal) => this.listEvents(runId, { cursor }, { signal }),
      openStream: async (resume, signal) => {
        const path = `${runPath(runId)}/stream`;
        const response = await this.#transport.open({
          method: 'GET',
          path,
          signal,
          ...resumeAt(resume),
        });
        return eventStreamBody(response);
      },
    };
  }

  async #get<T extends z.ZodType>(
    path: string,
    schema: T,
    query: Readonly<Record<string, string | number | undefined>>,
    signal: AbortSignal | undefined,
  ): Promise<z.output<T>> {
    return (await this.#transport.json({ method: 'GET', path, query, signal }, schema)).value;
  }
}

function runPath(runId: RunId): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}

/** The caller's cursor goes into the query; what the server sent as an event id goes back as `Last-Event-ID`. */
function resumeAt(resume: ResumePoint | undefined): Pick<ApiRequest, 'headers' | 'query'> {
  const accept = 'text/event-stream';
  if (!resume) return { headers: { accept } };
  if (resume.from === 'server' && HEADER_SAFE.test(resume.cursor)) {
    return { headers: { accept, 'last-event-id': resume.cursor } };
  }
  return { headers: { accept }, query: { cursor: resume.cursor } };
}

function eventStreamBody(response: Response): ReadableStream<Uint8Array> {
  const type = response.headers.get('content-type') ?? '';
  if (!response.body || !/^text\/event-stream\s*(;|$)/i.test(type)) {
    response.body?.cancel().catch(() => undefined);
    throw new ReplyError(`expected an event stream, got ${type || 'no content type'}`);
  }
  return response.body;
}
