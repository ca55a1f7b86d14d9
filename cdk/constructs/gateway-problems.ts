import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import { ERROR_SPECS, type ErrorCode, problemType } from '#shared/contracts/index.ts';

/** What API Gateway answers by itself, before or instead of a function, in terms of our error table. */
const PROBLEMS: readonly (readonly [ResponseType, ErrorCode])[] = [
  [ResponseType.UNAUTHORIZED, 'unauthenticated'],
  [ResponseType.ACCESS_DENIED, 'forbidden'],
  // Its answer to a path or a method that does not exist.
  [ResponseType.MISSING_AUTHENTICATION_TOKEN, 'route_not_found'],
  [ResponseType.RESOURCE_NOT_FOUND, 'route_not_found'],
  [ResponseType.BAD_REQUEST_BODY, 'invalid_request'],
  [ResponseType.BAD_REQUEST_PARAMETERS, 'invalid_request'],
  [ResponseType.REQUEST_TOO_LARGE, 'payload_too_large'],
  [ResponseType.UNSUPPORTED_MEDIA_TYPE, 'unsupported_media_type'],
  [ResponseType.THROTTLED, 'throttled'],
  [ResponseType.DEFAULT_5XX, 'internal'],
];

const EXTRA_HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  unauthenticated: { 'WWW-Authenticate': 'Bearer' },
  throttled: { 'Retry-After': '2' },
};

/** Makes the API's own refusals the same problem documents as those of the functions. */
export function answerWithProblems(api: RestApi): void {
  for (const [type, code] of PROBLEMS) {
    const headers = { 'Content-Type': 'application/problem+json', ...EXTRA_HEADERS[code] };
    api.addGatewayResponse(`Problem-${type.responseType}`, {
      type,
      statusCode: String(ERROR_SPECS[code].http),
      responseHeaders: Object.fromEntries(
        // Static values are written in quotes of their own.
        Object.entries(headers).map(([name, value]) => [name, `'${value}'`]),
      ),
      templates: { 'application/json': problemTemplate(code) },
    });
  }
}

/** `$context.requestId` is replaced by API Gateway; it finds the request in the access log. */
function problemTemplate(code: ErrorCode): string {
  const { http, meaning } = ERROR_SPECS[code];
  return JSON.stringify({
    type: problemType(code),
    title: meaning,
    status: http,
    detail: meaning,
    code,
    requestId: '$context.requestId',
  });
}
