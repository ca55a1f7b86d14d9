import { z } from 'zod';
import type { ErrorCode } from '#shared/contracts/index.ts';
import type { NativeVerdict } from '../../ending-rules.ts';

interface FailurePattern {
  readonly code: ErrorCode;
  readonly pattern: RegExp;
}

/** By HTTP status, where Codex passes one on. */
const CODES_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'model_request_refused',
  401: 'model_unauthenticated',
  402: 'model_rate_limited',
  403: 'model_unauthenticated',
  404: 'model_not_found',
  408: 'model_unavailable',
  413: 'model_context_exceeded',
  422: 'model_request_refused',
  429: 'model_rate_limited',
};

/** `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last status: 429 Too Many Requests` */
const STATUS = /(?:unexpected|last) status:? (?<status>\d{3})\b/;

/**
 * Codex replaces some of the provider's answers by sentences of its own and loses the status. These are the ones
 * seen from 0.171; a sentence we do not know falls through to `engine_failed`, never to a success.
 */
const PATTERNS: readonly FailurePattern[] = [
  {
    code: 'model_context_exceeded',
    pattern: /^Codex ran out of room in the model's context window/,
  },
  { code: 'model_rate_limited', pattern: /^(?:Quota exceeded\b|rate limit exceeded\b)/i },
  { code: 'model_unavailable', pattern: /^stream disconnected before completion\b/ },
  { code: 'model_unavailable', pattern: /^Connection failed\b/ },
  { code: 'model_unavailable', pattern: /^We.re currently experiencing high demand\b/ },
  { code: 'model_unavailable', pattern: /\b(?:at capacity|server is overloaded)\b/i },
  { code: 'model_not_found', pattern: /\bmodel\b.{0,200}\b(?:not found|does not exist)\b/i },
  { code: 'credential_unavailable', pattern: /^Missing environment variable:/ },
  // Run again after a 401, when the key that it gave once was refused.
  { code: 'model_unauthenticated', pattern: /^provider auth command\b/ },
  // The provider cut its own answer short: the same request ends the same way.
  { code: 'model_request_refused', pattern: /^Incomplete response returned\b/ },
];

/** Codes that providers put into the JSON body of a 400, which Codex passes on as it is. */
const CODES_IN_BODY: Readonly<Record<string, ErrorCode>> = {
  context_length_exceeded: 'model_context_exceeded',
  model_not_found: 'model_not_found',
  invalid_api_key: 'model_unauthenticated',
  insufficient_quota: 'model_rate_limited',
  rate_limit_exceeded: 'model_rate_limited',
};

/** Turns the message of `turn.failed` into an error of the platform; pure. */
export function classifyFailure(
  message: string | null | undefined,
): Extract<NativeVerdict, { kind: 'failed' }> {
  const said = message?.trim() || 'the turn failed without a message';
  const body = refusalBody(said);
  if (body !== undefined) {
    const code = CODES_IN_BODY[body.code ?? ''] ?? 'model_request_refused';
    return { kind: 'failed', code, message: body.message ?? said };
  }
  const status = Number(STATUS.exec(said)?.groups?.status);
  const code = CODES_BY_STATUS[status] ?? (status >= 500 ? 'model_unavailable' : undefined);
  const known = code ?? PATTERNS.find(({ pattern }) => pattern.test(said))?.code;
  return { kind: 'failed', code: known ?? 'engine_failed', message: said };
}

const bodySchema = z.object({
  error: z.object({ message: z.string().optional(), code: z.string().nullish() }).optional(),
});

/** The body of a 400, when it is JSON: Codex gives it as the whole message. */
function refusalBody(said: string): { code?: string | null; message?: string } | undefined {
  if (!said.startsWith('{')) return undefined;
  try {
    return bodySchema.parse(JSON.parse(said)).error ?? {};
  } catch {
    return undefined;
  }
}
