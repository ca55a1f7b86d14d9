import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';

/** Where the API stands; part of the request context and of method ARNs. */
export interface ApiPlace {
  readonly region: string;
  readonly accountId: string;
  readonly apiId: string;
  readonly stage: string;
}

/** A request that has found its route. */
export interface RoutedRequest {
  readonly message: IncomingMessage;
  readonly requestId: string;
  readonly receivedAtMs: number;
  /** The path of the URL as it was sent. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The route's path, for example `/v1/runs/{runId}`. */
  readonly resource: string;
  readonly pathParameters: Readonly<Record<string, string>>;
}

/** Belong to one connection and not to the request; API Gateway does not pass them on. */
const HOP_BY_HOP = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** The part of the events that authorizers and functions get alike. */
type SharedEvent = Omit<APIGatewayProxyEvent, 'body' | 'isBase64Encoded'>;

/** What a REQUEST authorizer is asked. */
export function toAuthorizerEvent(
  request: RoutedRequest,
  place: ApiPlace,
): APIGatewayRequestAuthorizerEvent {
  const { region, accountId, apiId, stage } = place;
  const method = request.message.method ?? 'GET';
  return {
    type: 'REQUEST',
    methodArn: `arn:aws:execute-api:${region}:${accountId}:${apiId}/${stage}/${method}${request.path}`,
    ...(sharedEvent(request, place) as SharedEvent & {
      requestContext: { authorizer: undefined };
    }),
  };
}

/** What a function gets (payload version 1.0). Bodies of a binary type are base64, all others UTF-8 text. */
export function toProxyEvent(
  request: RoutedRequest,
  place: ApiPlace,
  body: Buffer,
  options: {
    authorizer: Readonly<Record<string, unknown>> | undefined;
    binaryMediaTypes: readonly string[];
  },
): APIGatewayProxyEvent {
  const shared = sharedEvent(request, place);
  const binary = isBinary(request.message.headers['content-type'], options.binaryMediaTypes);
  return {
    ...shared,
    requestContext: {
      ...shared.requestContext,
      ...(options.authorizer ? { authorizer: options.authorizer } : {}),
    },
    body: body.length === 0 ? null : body.toString(binary ? 'base64' : 'utf8'),
    isBase64Encoded: binary && body.length > 0,
  };
}

export function isBinary(contentType: string | undefined, types: readonly string[]): boolean {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  return types.some((binary) => {
    const [group, kind] = binary.toLowerCase().split('/');
    if (group === '*') return true;
    return kind === '*' ? type?.startsWith(`${group}/`) : type === `${group}/${kind}`;
  });
}

function sharedEvent(request: RoutedRequest, place: ApiPlace): SharedEvent {
  const { message, requestId, receivedAtMs, query } = request;
  const multiValueHeaders = headersOf(message);
  const multiValueQuery = groupOf([...query]);
  const { pathParameters } = request;
  const userAgent = message.headers['user-agent'] ?? null;
  return {
    resource: request.resource,
    path: request.path,
    httpMethod: message.method ?? 'GET',
    headers: lastOf(multiValueHeaders),
    multiValueHeaders,
    queryStringParameters: query.size > 0 ? lastOf(multiValueQuery) : null,
    multiValueQueryStringParameters: query.size > 0 ? multiValueQuery : null,
    pathParameters: Object.keys(pathParameters).length > 0 ? { ...pathParameters } : null,
    stageVariables: null,
    requestContext: {
      accountId: place.accountId,
      apiId: place.apiId,
      authorizer: undefined,
      domainName: message.headers.host ?? '',
      domainPrefix: place.apiId,
      extendedRequestId: requestId,
      httpMethod: message.method ?? 'GET',
      identity: {
        accessKey: null,
        accountId: null,
        apiKey: null,
        apiKeyId: null,
        caller: null,
        clientCert: null,
        cognitoAuthenticationProvider: null,
        cognitoAuthenticationType: null,
        cognitoIdentityId: null,
        cognitoIdentityPoolId: null,
        principalOrgId: null,
        sourceIp: message.socket.remoteAddress ?? '',
        user: null,
        userAgent,
        userArn: null,
      },
      path: `/${place.stage}${request.path}`,
      protocol: `HTTP/${message.httpVersion}`,
      requestId,
      requestTime: requestTime(receivedAtMs),
      requestTimeEpoch: receivedAtMs,
      resourceId: request.resource,
      resourcePath: request.resource,
      stage: place.stage,
    },
  };
}

/** In the client's spelling, and with what API Gateway adds. */
function headersOf(message: IncomingMessage): Record<string, string[]> {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = message.rawHeaders.slice(index, index + 2);
    if (!HOP_BY_HOP.has(name.toLowerCase())) pairs.push([name, value]);
  }
  const has = (name: string) => pairs.some(([each]) => each.toLowerCase() === name);
  const forwarded = message.headers['x-forwarded-for'];
  const from = message.socket.remoteAddress ?? '';
  const withoutForwarded = pairs.filter(([name]) => name.toLowerCase() !== 'x-forwarded-for');
  const added: [string, string][] = [
    ['X-Forwarded-For', forwarded ? `${forwarded}, ${from}` : from],
    ...(has('x-forwarded-proto') ? [] : ([['X-Forwarded-Proto', 'http']] as [string, string][])),
    ...(has('x-amzn-trace-id')
      ? []
      : ([['X-Amzn-Trace-Id', `Root=${traceId()}`]] as [string, string][])),
  ];
  return groupOf([...withoutForwarded, ...added]);
}

function groupOf(pairs: readonly (readonly [string, string])[]): Record<string, string[]> {
  // A name like `__proto__` is one of the client's own names and nothing else.
  const groups = new Map<string, string[]>();
  for (const [name, value] of pairs) groups.set(name, [...(groups.get(name) ?? []), value]);
  return Object.fromEntries(groups);
}

/** Of a repeated name the last value counts. */
const lastOf = (groups: Readonly<Record<string, readonly string[]>>): Record<string, string> =>
  Object.fromEntries(Object.entries(groups).map(([name, values]) => [name, values.at(-1) ?? '']));

function traceId(): string {
  const seconds = Math.floor(Date.now() / 1000).toString(16);
  return `1-${seconds}-${randomBytes(12).toString('hex')}`;
}

/** For example `09/Apr/2026:12:34:56 +0000`. */
function requestTime(atMs: number): string {
  const [, day, month, year, time] = new Date(atMs).toUTCString().split(' ');
  return `${day}/${month}/${year}:${time} +0000`;
}
