import type { APIGatewayAuthorizerResult, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import type { AccessTokenVerifier } from '#shared/auth/index.ts';
import type { Logger } from '#shared/orchestrator/index.ts';

/**
 * The user authorizer of the REST API. `Unauthorized` is the word by which API Gateway answers 401; the context is the
 * only place from which functions learn the tenant. The policy covers the whole stage, since the answer may be cached
 * for another route.
 */
export function authorizeRequestHandler(deps: { verify: AccessTokenVerifier; log: Logger }) {
  return async (event: APIGatewayRequestAuthorizerEvent): Promise<APIGatewayAuthorizerResult> => {
    const header = Object.entries(event.headers ?? {}).find(
      ([name]) => name.toLowerCase() === 'authorization',
    )?.[1];
    const token = /^Bearer (\S+)$/i.exec(header ?? '')?.[1];
    if (!token) throw new Error('Unauthorized');
    try {
      const caller = await deps.verify(token);
      return {
        principalId: `${caller.tenantId}/${caller.subject}`,
        policyDocument: {
          Version: '2012-10-17',
          Statement: [
            {
              Action: 'execute-api:Invoke',
              Effect: 'Allow',
              Resource: wholeStage(event.methodArn),
            },
          ],
        },
        context: {
          tenantId: caller.tenantId,
          subject: caller.subject,
          scopes: caller.scopes.join(' '),
          expiresAtMs: String(caller.expiresAtMs),
        },
      };
    } catch (error) {
      deps.log.info(
        { reason: error instanceof Error ? error.message : 'unknown' },
        'token refused',
      );
      throw new Error('Unauthorized');
    }
  };
}

/** `arn:…:api/stage/GET/v1/runs` → `arn:…:api/stage/*`. */
function wholeStage(methodArn: string): string {
  return `${methodArn.split('/').slice(0, 2).join('/')}/*`;
}
