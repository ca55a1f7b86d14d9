import { createAccessTokenVerifier, remoteKeys } from '#shared/auth/index.ts';
import { openLogger } from '../../kit/logger.ts';
import { readEnv } from '../../kit/read-env.ts';
import { authorizeRequestHandler } from './handler.ts';

const env = readEnv('JWT_ISSUER', 'JWT_AUDIENCE', 'JWKS_URL');

export const handler = authorizeRequestHandler({
  verify: createAccessTokenVerifier({
    issuer: env.JWT_ISSUER,
    audience: env.JWT_AUDIENCE,
    keys: remoteKeys(env.JWKS_URL),
  }),
  log: openLogger('authorize-request'),
});
