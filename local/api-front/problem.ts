import type { ServerResponse } from 'node:http';
import { ERROR_SPECS, type ErrorCode, problemType } from '#shared/contracts/index.ts';

/** An answer of the front itself, before or instead of a function's. */
export interface Refusal {
  readonly code: ErrorCode;
  /** When it is not the status of the code. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends the problem document that the gateway of the deployed API would send. */
export function sendProblem(
  response: ServerResponse,
  requestId: string,
  { code, status = ERROR_SPECS[code].http, headers = {} }: Refusal,
): void {
  const { meaning } = ERROR_SPECS[code];
  const body = JSON.stringify({
    type: problemType(code),
    title: meaning,
    status,
    detail: meaning,
    code,
    requestId,
  });
  // What a malformed answer has set before it was refused.
  for (const name of response.getHeaderNames()) response.removeHeader(name);
  response
    .writeHead(status, {
      'content-type': 'application/problem+json',
      'content-length': Buffer.byteLength(body),
      'x-request-id': requestId,
      ...headers,
    })
    .end(body);
}
