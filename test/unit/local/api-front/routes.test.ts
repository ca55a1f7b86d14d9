import { describe, expect, it } from 'vitest';
import { RouteTable } from '#local/api-front/route-table.ts';

const table = new RouteTable(
  [
    'GET /v1/runs',
    'POST /v1/runs',
    'GET /v1/runs/{runId}',
    'POST /v1/runs/{runId}/cancel',
    'GET /v1/runs/active',
    'ANY /files/{path+}',
    'PUT /files/{path+}',
    'GET /',
  ].map((text) => {
    const [method = '', path = ''] = text.split(' ');
    return { method, path };
  }),
);

const find = (method: string, path: string) => {
  const match = table.find(method, path);
  if (match.kind !== 'route') return match;
  return [`${match.route.method} ${match.route.path}`, match.pathParameters];
};

describe('the routes', () => {
  it.each([
    ['GET', '/v1/runs', 'GET /v1/runs', {}],
    ['GET', '/v1/runs/r1', 'GET /v1/runs/{runId}', { runId: 'r1' }],
    ['GET', '/v1/runs/a%2Fb%20c%C3%A4', 'GET /v1/runs/{runId}', { runId: 'a/b cä' }],
    ['GET', '/v1/runs/active', 'GET /v1/runs/active', {}],
    ['GET', '/v1/run%73', 'GET /v1/runs', {}],
    ['POST', '/v1/runs/r1/cancel', 'POST /v1/runs/{runId}/cancel', { runId: 'r1' }],
    ['DELETE', '/files/a/b%20c', 'ANY /files/{path+}', { path: 'a/b c' }],
    ['PUT', '/files/a', 'PUT /files/{path+}', { path: 'a' }],
    ['GET', '/', 'GET /', {}],
  ])('%s %s is %s', (method, path, route, parameters) => {
    expect(find(method, path)).toEqual([route, parameters]);
  });

  it.each([
    '/v1',
    '/v1/runs/',
    '/v1/runs/r1/other',
    '/v2/runs',
    '/files',
    '/files/',
    '//v1/runs',
    '',
  ])('there is no path %s', (path) => {
    expect(find('GET', path)).toEqual({ kind: 'no_path' });
  });

  it('a path that exists tells its methods', () => {
    expect(find('DELETE', '/v1/runs')).toEqual({ kind: 'no_method', allowed: ['GET', 'POST'] });
    expect(find('POST', '/v1/runs/active')).toEqual({ kind: 'no_method', allowed: ['GET'] });
  });

  it.each(['/v1/runs/%', '/v1/runs/%zz', '/v1/runs/%ff', '/files/a/%c3'])(
    'refuses the wrong encoding in %s',
    (path) => {
      expect(find('GET', path)).toEqual({ kind: 'bad_encoding' });
    },
  );

  it('cannot hold the same route twice', () => {
    const twice = ['/runs/{a}', '/runs/{b}'].map((path) => ({ method: 'GET', path }));
    expect(() => new RouteTable(twice)).toThrow(/two routes/);
  });
});
