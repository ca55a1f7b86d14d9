import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ResponseMetadata } from '#local/lambda/index.ts';

/** An answer of a function, ready to be sent. */
export interface ProxyResponse {
  readonly statusCode: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Buffer;
}

/** Set by the connection itself, whatever a function says. */
const OWN_HEADERS = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding']);

/** Undefined when the answer does not have the form of a proxy response, which API Gateway answers with 502. */
export function readProxyResponse(payload: string): ProxyResponse | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(payload);
  } catch {
    return undefined;
  }
  if (answer === null || typeof answer !== 'object') return undefined;
  const { body, isBase64Encoded, ...head } = answer as Record<string, unknown>;
  const opened = readHead(head);
  if (!opened || !(body === undefined || body === null || typeof body === 'string')) {
    return undefined;
  }
  const encoding = isBase64Encoded === true ? 'base64' : 'utf8';
  return { ...opened, body: Buffer.from(body ?? '', encoding) };
}

/** Status and headers of a whole or a streamed answer. */
export function readHead(
  head: ResponseMetadata | Readonly<Record<string, unknown>>,
): { statusCode: number; headers: OutgoingHttpHeaders } | undefined {
  const { statusCode, headers, multiValueHeaders } = head as Record<string, unknown>;
  const status = Number(statusCode);
  if (!Number.isInteger(status) || status < 200 || status > 599) return undefined;
  const all: OutgoingHttpHeaders = { 'content-type': 'application/json' };
  for (const given of [headers, multiValueHeaders]) {
    if (given === undefined || given === null) continue;
    if (typeof given !== 'object' || Array.isArray(given)) return undefined;
    for (const [name, value] of Object.entries(given)) {
      if (OWN_HEADERS.has(name.toLowerCase())) continue;
      all[name.toLowerCase()] = Array.isArray(value) ? value.map(String) : String(value);
    }
  }
  return { statusCode: status, headers: all };
}

export function sendProxyResponse(
  response: ServerResponse,
  { statusCode, headers, body }: ProxyResponse,
): void {
  const bodiless = statusCode === 204 || statusCode === 304;
  response.writeHead(statusCode, {
    ...headers,
    ...(bodiless ? {} : { 'content-length': body.length }),
  });
  response.end(bodiless ? undefined : body);
}
