import type { ExecutionScope, ExecutionTokens } from '#shared/auth/index.ts';
import { PlatformError } from '#shared/contracts/index.ts';
import type { HttpRequest } from './http-function.ts';

/**
 * The attempt a host call speaks for, from its execution token. The path must name the same run, so that a token of
 * one run opens no door to another.
 *
 * @throws PlatformError `unauthenticated`, `forbidden`
 */
export function executionOf(
  tokens: ExecutionTokens,
  request: Pick<HttpRequest<unknown, unknown>, 'bearer' | 'path'>,
): ExecutionScope {
  const scope = tokens.verifyExecutionToken(request.bearer());
  if (request.path.runId !== scope.runId) {
    throw new PlatformError('forbidden', 'this token is of another run');
  }
  return scope;
}
