import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import type { z } from 'zod';
import type { Caller } from '#shared/auth/index.ts';
import {
  ERROR_SPECS,
  PlatformError,
  tenantIdSchema,
  toPlatformError,
} from '#shared/contracts/index.ts';
import type { Logger } from '#shared/orchestrator/index.ts';
import { errorResponse } from './error-response.ts';

export interface HttpReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request after authentication and validation. */
export interface HttpRequest<Body, Query> {
  readonly body: Body;
  readonly query: Query;
  readonly path: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: string;
  /** @throws PlatformError `unauthenticated` on a route without the user authorizer */
  caller(): Caller;
  /** The bearer token of a host call. @throws PlatformError `unauthenticated` */
  bearer(): string;
}

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * One Lambda behind the REST API: errors become problem details, input is parsed by strict schemas, the caller comes
 * from the authorizer's verified context. middy runs `onError` in reverse order of `use`, so the error mapper, used
 * first, has the last word.
 */
export function httpFunction<Body = undefined, Query = undefined>(options: {
  log: Logger;
  body?: z.ZodType<Body>;
  query?: z.ZodType<Query>;
  /** 2 MiB when left out. */
  maxBodyBytes?: number;
  run: (request: HttpRequest<Body, Query>) => Promise<HttpReply>;
}) {
  return middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .use(errorMapper(options.log))
    .handler(async (event, context) => {
      const reply = await options.run(parseRequest(event, context, options));
      return {
        statusCode: reply.status,
        headers: {
          'content-type': 'application/json',
          'cache-control': 'no-store',
          ...reply.headers,
        },
        body: JSON.stringify(reply.body),
      };
    });
}

function errorMapper(
  log: Logger,
): middy.MiddlewareObj<APIGatewayProxyEvent, APIGatewayProxyResult> {
  return {
    onError: (request) => {
      const error = toPlatformError(request.error);
      const requestId = requestIdOf(request.event, request.context);
      const fields = { requestId, code: error.code, route: request.event.resource };
      if (ERROR_SPECS[error.code].fault === 'platform') {
        log.error({ ...fields, error: request.error }, 'request failed');
      } else log.info({ ...fields, detail: error.message }, 'request refused');
      request.response = errorResponse(error, requestId);
    },
  };
}

/** Shared with the streaming function, which middy's plain handler does not fit. */
export function parseRequest<Body, Query>(
  event: APIGatewayProxyEvent,
  context: Context,
  schemas: { body?: z.ZodType<Body>; query?: z.ZodType<Query>; maxBodyBytes?: number },
): HttpRequest<Body, Query> {
  const headers = lowerCase(event.headers ?? {});
  return {
    body: (schemas.body
      ? parseBody(event, headers, schemas.body, schemas.maxBodyBytes ?? MAX_BODY_BYTES)
      : undefined) as Body,
    query: (schemas.query
      ? parseWith(schemas.query, event.queryStringParameters ?? {}, 'query')
      : undefined) as Query,
    path: Object.fromEntries(
      Object.entries(event.pathParameters ?? {}).map(([name, value]) => [name, value ?? '']),
    ),
    headers,
    requestId: requestIdOf(event, context),
    caller: () => callerOf(event),
    bearer: () => bearerOf(headers),
  };
}

function parseBody<T>(
  event: APIGatewayProxyEvent,
  headers: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
  maxBytes: number,
): T {
  const text = event.isBase64Encoded
    ? Buffer.from(event.body ?? '', 'base64').toString('utf8')
    : (event.body ?? '');
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    throw new PlatformError(
      'payload_too_large',
      `the body has ${bytes} bytes; at most ${maxBytes} are possible`,
    );
  }
  const type = headers['content-type'];
  if (type && !/^application\/([\w.+-]+\+)?json\b/i.test(type)) {
    throw new PlatformError('unsupported_media_type', `the body is ${type}`, {
      field: 'Content-Type',
      remedy: 'send application/json',
    });
  }
  let value: unknown;
  try {
    value = text === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new PlatformError('invalid_json', 'the body is not valid JSON', { cause });
  }
  return parseWith(schema, value, undefined);
}

/** Names the first field that is wrong. */
function parseWith<T>(schema: z.ZodType<T>, value: unknown, prefix: string | undefined): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  const path = [...(prefix ? [prefix] : []), ...(issue?.path ?? []), ...unknown.slice(0, 1)];
  const field = path.join('.') || '(body)';
  throw new PlatformError('invalid_request', `${field}: ${issue?.message ?? 'invalid'}`, {
    field,
    remedy:
      unknown.length > 0
        ? 'remove the field; unknown fields are refused, not ignored'
        : 'correct the field',
  });
}

function callerOf(event: APIGatewayProxyEvent): Caller {
  const context = event.requestContext.authorizer ?? {};
  const tenantId = tenantIdSchema.safeParse(context.tenantId);
  const expiresAtMs = Number(context.expiresAtMs);
  if (!tenantId.success || typeof context.subject !== 'string' || !Number.isFinite(expiresAtMs)) {
    throw new PlatformError('unauthenticated', 'this route needs an access token');
  }
  return {
    tenantId: tenantId.data,
    subject: context.subject,
    scopes: String(context.scopes ?? '')
      .split(' ')
      .filter(Boolean),
    expiresAtMs,
  };
}

function bearerOf(headers: Readonly<Record<string, string>>): string {
  const token = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  if (!token) {
    throw new PlatformError('unauthenticated', 'no bearer token', { field: 'Authorization' });
  }
  return token;
}

function lowerCase(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value ?? '']),
  );
}

function requestIdOf(event: APIGatewayProxyEvent, context: Context): string {
  return event.requestContext?.requestId ?? context.awsRequestId;
}
