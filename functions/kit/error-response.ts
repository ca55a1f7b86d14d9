import type { APIGatewayProxyResult } from 'aws-lambda';
import {
  ERROR_SPECS,
  type PlatformError,
  type Problem,
  problemType,
} from '#shared/contracts/index.ts';

/** RFC 9457 problem details of an error of the platform. */
export function problemOf(error: PlatformError, requestId: string): Problem {
  const { code, message, field, remedy, details } = error.record;
  return {
    type: problemType(code),
    title: ERROR_SPECS[code].meaning,
    status: ERROR_SPECS[code].http,
    detail: message,
    code,
    requestId,
    ...(field ? { field } : {}),
    ...(remedy ? { remedy } : {}),
    ...(details ? { details } : {}),
  };
}

export function errorResponse(error: PlatformError, requestId: string): APIGatewayProxyResult {
  const problem = problemOf(error, requestId);
  return {
    statusCode: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      ...(problem.status === 429 || problem.status === 503 ? { 'retry-after': '2' } : {}),
    },
    body: JSON.stringify(problem),
  };
}
