import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';

export const DEV_AUDIENCE = 'nexusdesk';
/** The tenant of the developer at this machine. */
export const DEV_TENANT = 'dev';
const ALGORITHM = 'EdDSA';
const TOKEN_LIFE_MS = 7 * 24 * 60 * 60_000;

/**
 * Stands for the identity provider on a laptop. Its key is made at first start and kept; tokens are real JWTs, and the
 * platform verifies them by the same code as in the cloud.
 */
export interface DevIssuer {
  readonly issuer: string;
  readonly jwksPath: string;
  /** Answer of `GET <jwksPath>`: public keys only. */
  readonly jwks: { keys: JWK[] };
  issue(claims: {
    tenantId: string;
    subject: string;
    lifeMs?: number;
  }): Promise<{ token: string; expiresAt: string }>;
}

export async function openDevIssuer(state: StateDatabase, baseUrl: string): Promise<DevIssuer> {
  state.exec(
    'CREATE TABLE IF NOT EXISTS dev_issuer (id INTEGER PRIMARY KEY CHECK (id = 1), jwk TEXT NOT NULL) STRICT',
  );
  const known = state.prepare('SELECT jwk FROM dev_issuer').get() as { jwk: string } | undefined;
  const privateJwk = known ? (JSON.parse(known.jwk) as JWK) : await newKey();
  if (!known) {
    state.prepare('INSERT INTO dev_issuer (id, jwk) VALUES (1, ?)').run(JSON.stringify(privateJwk));
  }
  const key = await importJWK(privateJwk, ALGORITHM);
  const { d: _private, ...publicJwk } = privateJwk;
  return {
    issuer: baseUrl,
    jwksPath: '/.well-known/jwks.json',
    jwks: { keys: [{ ...publicJwk, use: 'sig', alg: ALGORITHM }] },
    async issue({ tenantId, subject, lifeMs = TOKEN_LIFE_MS }) {
      const expires = Math.floor((Date.now() + lifeMs) / 1000);
      const token = await new SignJWT({ tenant_id: tenantId, scope: 'runs:read runs:write' })
        .setProtectedHeader({ alg: ALGORITHM, kid: publicJwk.kid ?? 'dev' })
        .setIssuer(baseUrl)
        .setAudience(DEV_AUDIENCE)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime(expires)
        .sign(key);
      return { token, expiresAt: new Date(expires * 1000).toISOString() };
    },
  };
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: `dev-${Date.now().toString(36)}` };
}
