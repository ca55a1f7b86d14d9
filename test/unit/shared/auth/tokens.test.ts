import { createLocalJWKSet, exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AccessTokenVerifier,
  createAccessTokenVerifier,
  createExecutionTokens,
} from '#shared/auth/index.ts';

const ISSUER = 'https://issuer.example';
type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
let key: Key;
let stranger: Key;
let verify: AccessTokenVerifier;

beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true });
  key = pair.privateKey;
  stranger = (await generateKeyPair('ES256')).privateKey;
  const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one' }] });
  verify = createAccessTokenVerifier({ issuer: ISSUER, audience: 'nexusdesk', keys });
});

const token = (
  claims: Record<string, unknown> = { tenant_id: 'acme' },
  options: { issuer?: string; audience?: string; expires?: string; key?: Key } = {},
) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(options.issuer ?? ISSUER)
    .setAudience(options.audience ?? 'nexusdesk')
    .setSubject('ada')
    .setExpirationTime(options.expires ?? '5m')
    .sign(options.key ?? key);

describe('access token', () => {
  it('gives tenant, subject, scopes and expiry', async () => {
    expect(
      await verify(await token({ tenant_id: 'acme', scope: 'runs:read runs:write' })),
    ).toMatchObject({
      tenantId: 'acme',
      subject: 'ada',
      scopes: ['runs:read', 'runs:write'],
    });
    expect((await verify(await token({ 'custom:tenant_id': 'pool' }))).tenantId).toBe('pool');
  });

  it('refuses every token that is not one of ours for us, now, with a tenant', async () => {
    const bad = [
      'nonsense',
      await token({ tenant_id: 'acme' }, { issuer: 'https://other.example' }),
      await token({ tenant_id: 'acme' }, { audience: 'other' }),
      await token({ tenant_id: 'acme' }, { expires: '-1m' }),
      await token({ tenant_id: 'acme' }, { key: stranger }),
      await token({}),
      await token({ tenant_id: 'a#b' }),
      await token({ tenant_id: '../acme' }),
      new UnsecuredJWT({ tenant_id: 'acme' })
        .setIssuer(ISSUER)
        .setAudience('nexusdesk')
        .setSubject('ada')
        .setExpirationTime('5m')
        .encode(),
      await new SignJWT({ tenant_id: 'acme' })
        .setProtectedHeader({ alg: 'HS256', kid: 'one' })
        .setIssuer(ISSUER)
        .setAudience('nexusdesk')
        .setSubject('ada')
        .setExpirationTime('5m')
        .sign(new TextEncoder().encode('x'.repeat(32))),
    ];
    for (const text of bad)
      await expect(verify(text), text).rejects.toMatchObject({ code: 'unauthenticated' });
  });
});

describe('execution tokens', () => {
  const scope = {
    tenantId: 'acme',
    runId: 'run_01J00000000000000000000000',
    epoch: 2,
    expiresAtMs: 2_000,
  };
  const tokens = createExecutionTokens('secret', () => 1_000);

  it('are the same for the same attempt, and differ by attempt, purpose and secret', () => {
    const all = [
      tokens.signTicket(scope),
      tokens.signTicket({ ...scope, epoch: 3 }),
      tokens.signExecutionToken(scope),
      createExecutionTokens('other', () => 1_000).signTicket(scope),
    ];
    expect(tokens.signTicket(scope)).toBe(all[0]);
    expect(new Set(all).size).toBe(4);
    expect(tokens.verifyTicket(all[0] ?? '')).toEqual(scope);
  });

  it('are refused when changed in any place, expired, or made for another purpose', () => {
    const ticket = tokens.signTicket(scope);
    for (let index = 0; index < ticket.length; index += 1) {
      const other = ticket[index] === 'A' ? 'B' : 'A';
      const changed = ticket.slice(0, index) + other + ticket.slice(index + 1);
      expect(() => tokens.verifyTicket(changed), `character ${index}`).toThrow();
    }
    expect(() => tokens.verifyExecutionToken(ticket)).toThrow();
    expect(() => tokens.verifyTicket(`${ticket}.x`)).toThrow();
    expect(() => createExecutionTokens('secret', () => 2_000).verifyTicket(ticket)).toThrow(
      'expired',
    );
  });

  it('sign places in the log', () => {
    const position = {
      runId: scope.runId,
      epoch: 2,
      nextIndex: 5,
      nextSequence: 17,
      traceId: 'abc',
    };
    expect(tokens.verifyPosition(tokens.signPosition(position))).toEqual(position);
    expect(() => tokens.verifyPosition(tokens.signTicket(scope))).toThrow('not issued here');
  });
});
