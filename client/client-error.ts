import { ERROR_SPECS, type ErrorSpec, type Problem } from '#shared/contracts/index.ts';

/** The API answered with a refusal or a fault: the fields of its problem document (RFC 9457). */
export class ApiError extends Error {
  readonly status: number;
  /** A code of the error table, or one of a newer server, or `http_<status>` when a proxy answered instead. */
  readonly code: string;
  readonly field: string | undefined;
  readonly remedy: string | undefined;
  readonly requestId: string | undefined;
  readonly details: Problem['details'];
  /** What the server asked for in `Retry-After`, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(problem: Problem, retryAfterMs?: number) {
    super(problem.detail || problem.title);
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code;
    this.field = problem.field;
    this.remedy = problem.remedy;
    this.requestId = problem.requestId;
    this.details = problem.details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No reply: refused, cut, unresolved or too late. Whether the request had an effect is unknown. */
export class ConnectionError extends Error {
  readonly code = 'connection_failed';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConnectionError';
  }
}

/** A reply that does not follow the contract: another service on that address, or an incompatible version. */
export class ReplyError extends Error {
  readonly code = 'unexpected_reply';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ReplyError';
  }
}

/**
 * `stream_interrupted`: the stream ended without the run's final event and could not be resumed.
 * `event_gap`: events are missing and re-reading the log did not bring them.
 */
export class StreamError extends Error {
  readonly code: 'stream_interrupted' | 'event_gap';

  constructor(code: StreamError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StreamError';
    this.code = code;
  }
}

/** Whether repeating the same request later can help. Never true for what the caller must change. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof StreamError) return true;
  if (!(error instanceof ApiError)) return false;
  if (error.status === 429) return true;
  if (error.status < 500) return false;
  const spec: ErrorSpec | undefined = Object.hasOwn(ERROR_SPECS, error.code)
    ? ERROR_SPECS[error.code as keyof typeof ERROR_SPECS]
    : undefined;
  // An engine that is not installed stays so; a fault or a lack of room passes.
  return spec === undefined || spec.class === 'InternalError' || spec.class === 'ResourceExhausted';
}
