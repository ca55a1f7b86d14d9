import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { z } from 'zod';
import { PlatformError, tenantIdSchema } from '#shared/contracts/index.ts';

/** Who calls: always from a verified token, never from a body or a path. */
export interface Caller {
  readonly tenantId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Milliseconds since the epoch; a stream ends here. */
  readonly expiresAtMs: number;
}

export type AccessTokenVerifier = (token: string) => Promise<Caller>;

/** Signature algorithms of public keys only: a shared secret or `none` can never pass. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'ES256', 'ES384', 'EdDSA'];
const CLOCK_TOLERANCE_SECONDS = 5;

const claimsSchema = z.object({
  sub: z.string().min(1).max(200),
  exp: z.number(),
  scope: z.string().optional(),
  tenant_id: tenantIdSchema.optional(),
  'custom:tenant_id': tenantIdSchema.optional(),
});

/**
 * Verifies a JWT of the configured issuer against its JWKS. The same code runs in the cloud (Cognito or any OIDC
 * issuer) and on a laptop (the development issuer). The tenant is the claim `tenant_id` or `custom:tenant_id`.
 */
export function createAccessTokenVerifier(options: {
  issuer: string;
  audience: string;
  keys: JWTVerifyGetKey;
  now?: () => number;
}): AccessTokenVerifier {
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, options.keys, {
        issuer: options.issuer,
        audience: options.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'sub'],
        ...(options.now ? { currentDate: new Date(options.now()) } : {}),
      });
      const claims = claimsSchema.parse(payload);
      const tenantId = claims.tenant_id ?? claims['custom:tenant_id'];
      if (!tenantId) throw new TypeError('the token names no tenant');
      return {
        tenantId,
        subject: claims.sub,
        scopes: claims.scope?.split(' ').filter(Boolean) ?? [],
        expiresAtMs: claims.exp * 1000,
      };
    } catch (cause) {
      throw unauthenticated(cause);
    }
  };
}

/** Keys of a remote issuer, cached and refreshed as the issuer rotates them. */
export function remoteKeys(jwksUrl: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(jwksUrl));
}

function unauthenticated(cause: unknown): PlatformError {
  const expired = cause instanceof errors.JWTExpired;
  return new PlatformError(
    'unauthenticated',
    expired ? 'the access token has expired' : 'the access token is not valid here',
    {
      remedy: 'get a new token from your issuer and send it as "Authorization: Bearer <token>"',
      cause,
    },
  );
}
