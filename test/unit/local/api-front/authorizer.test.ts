import type { APIGatewayProxyEvent, APIGatewayRequestAuthorizerEvent } from 'aws-lambda';
import { describe, expect, it, vi } from 'vitest';
import { allows } from '#local/api-front/authorize.ts';
import { echo, functionOf, startFront } from './front-fixture.ts';

const STAGE = 'arn:aws:execute-api:us-east-1:000000000000:local/local';

const policy = (...statements: [effect: string, resource: string | string[]][]) => ({
  Version: '2012-10-17',
  Statement: statements.map(([Effect, Resource]) => ({
    Action: 'execute-api:Invoke',
    Effect,
    Resource,
  })),
});

async function ask(
  answer: (event: APIGatewayRequestAuthorizerEvent) => unknown,
  token = 'Bearer t',
) {
  const url = await startFront(
    [{ method: 'GET', path: '/v1/runs/{runId}', invoke: echo, auth: 'user' }],
    { authorizers: { user: functionOf((event) => answer(event as never)) } },
  );
  return await fetch(`${url}/v1/runs/r1?x=1`, token ? { headers: { Authorization: token } } : {});
}

describe('a route with an authorizer', () => {
  it('is reached with the context as text when the policy allows it', async () => {
    const asked = vi.fn((_event: APIGatewayRequestAuthorizerEvent) => ({
      principalId: 'tenant/user',
      policyDocument: policy(['Allow', `${STAGE}/*`]),
      context: { tenantId: 't1', admin: false, limit: 7, none: null },
    }));
    const answer = await ask(asked);
    expect(answer.status).toBe(200);
    const reached = (await answer.json()) as APIGatewayProxyEvent;
    expect(reached.requestContext.authorizer).toEqual({
      tenantId: 't1',
      admin: 'false',
      limit: '7',
      none: null,
      principalId: 'tenant/user',
      integrationLatency: expect.any(Number),
    });
    const event = asked.mock.calls[0]?.[0];
    expect(event).toMatchObject({
      type: 'REQUEST',
      methodArn: `${STAGE}/GET/v1/runs/r1`,
      resource: '/v1/runs/{runId}',
      path: '/v1/runs/r1',
      httpMethod: 'GET',
      headers: { Authorization: 'Bearer t' },
      queryStringParameters: { x: '1' },
      pathParameters: { runId: 'r1' },
      requestContext: { resourcePath: '/v1/runs/{runId}', stage: 'local' },
    });
    expect(event).not.toHaveProperty('body');
  });

  it('is 401 without a token, and nobody is asked', async () => {
    const asked = vi.fn();
    const answer = await ask(asked, '');
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(await answer.json()).toMatchObject({ code: 'unauthenticated', status: 401 });
    expect(asked).not.toHaveBeenCalled();
  });

  it('is 401 when the authorizer throws Unauthorized', async () => {
    expect((await ask(() => Promise.reject(new Error('Unauthorized')))).status).toBe(401);
  });

  it.each([
    ['denies', { principalId: 'p', policyDocument: policy(['Deny', `${STAGE}/*`]) }],
    [
      'allows another path',
      { principalId: 'p', policyDocument: policy(['Allow', `${STAGE}/GET/v2/*`]) },
    ],
    [
      'allows and denies',
      { principalId: 'p', policyDocument: policy(['Allow', '*'], ['Deny', `${STAGE}/GET/v1/*`]) },
    ],
  ])('is 403 when the policy %s', async (_what, answer) => {
    const refused = await ask(() => answer);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: 'forbidden' });
  });

  it.each([
    ['throws something else', () => Promise.reject(new Error('JWKS unreachable'))],
    ['answers nothing', () => undefined],
    ['answers no policy', () => ({ principalId: 'p' })],
    ['names nobody', () => ({ policyDocument: policy(['Allow', '*']) })],
    [
      'gives an object in its context',
      () => ({
        principalId: 'p',
        policyDocument: policy(['Allow', '*']),
        context: { scopes: ['a'] },
      }),
    ],
  ])('is 500 when the authorizer %s', async (_what, answer) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    expect((await ask(answer)).status).toBe(500);
  });

  it('is asked for each request', async () => {
    const asked = vi.fn(() => ({ principalId: 'p', policyDocument: policy(['Allow', '*']) }));
    const url = await startFront([{ method: 'GET', path: '/', invoke: echo, auth: 'user' }], {
      authorizers: { user: functionOf(asked) },
    });
    const headers = { authorization: 'Bearer t' };
    for (let n = 0; n < 2; n += 1) expect((await fetch(url, { headers })).status).toBe(200);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('cannot name one that is not there', async () => {
    const routes = [{ method: 'GET', path: '/', invoke: echo, auth: 'user' }];
    await expect(startFront(routes)).rejects.toThrow(/authorizer user/);
  });
});

describe('a policy', () => {
  const arn = `${STAGE}/GET/v1/runs/r1`;
  it.each([
    [[{ Effect: 'Allow', Action: '*', Resource: '*' }], true],
    [[{ Effect: 'Allow', Action: ['execute-api:*'], Resource: [`${STAGE}/GET/v1/run?/*`] }], true],
    [[{ Effect: 'Allow', Action: 's3:GetObject', Resource: '*' }], false],
    [[{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: `${STAGE}/GET/v1/runs` }], false],
    [[{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: arn.replace('r1', 'r.') }], false],
    [[{ Effect: 'Allow', Resource: '*' }], false],
    [[{ Effect: 'allow', Action: '*', Resource: '*' }], false],
    [[], false],
  ])('%j allows: %s', (statements, allowed) => {
    expect(allows(statements, arn)).toBe(allowed);
  });
});
