import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STAGES } from '#cdk/stage-config.ts';
import { ERROR_SPECS, problemSchema } from '#shared/contracts/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { type Environment, type Resource, synthesize } from './environment.ts';
import { functionOf } from './policies.ts';
import type { JsonObject } from './resolve-template.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

const [config] = STAGES;
const ROUTES = FUNCTIONS.flatMap(({ name, trigger, timeoutMs }) =>
  trigger.kind === 'http' ? [{ name, timeoutMs, ...trigger }] : [],
);

describe('APIs', () => {
  let root: string;
  let environment: Environment;

  beforeAll(async () => {
    root = await createSourceSkeleton();
    environment = synthesize(config!, root);
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  const apiIn = (stack: 'control' | 'execution'): Resource => {
    const found = environment.all('AWS::ApiGateway::RestApi').find((api) => api.stack === stack);
    if (!found) throw new Error(`no API in ${stack}`);
    return found;
  };
  const stageIn = (stack: 'control' | 'execution'): Resource => {
    const found = environment.all('AWS::ApiGateway::Stage').find((stage) => stage.stack === stack);
    if (!found) throw new Error(`no stage in ${stack}`);
    return found;
  };
  const stackOf = (api: 'public' | 'host') => (api === 'public' ? 'control' : 'execution');

  /** `/v1/runs/{runId}`, from the chain of resources. */
  function pathOf(resourceId: string): string {
    const found = environment
      .all('AWS::ApiGateway::Resource')
      .find(({ name }) => name === resourceId);
    if (!found) return '';
    return `${pathOf(String(found.properties.ParentId))}/${String(found.properties.PathPart)}`;
  }

  function methodOf(route: (typeof ROUTES)[number]): Resource {
    const [method, ...others] = environment
      .all('AWS::ApiGateway::Method')
      .filter(
        ({ stack, properties }) =>
          stack === stackOf(route.api) &&
          properties.HttpMethod === route.method &&
          pathOf(String(properties.ResourceId)) === route.path,
      );
    if (!method || others.length > 0)
      throw new Error(`${route.method} ${route.path} is not one method`);
    return method;
  }

  it('API-1 have the routes of the catalogue, and no other', () => {
    const methods = environment.all('AWS::ApiGateway::Method').map(({ stack, properties }) => ({
      stack,
      route: `${String(properties.HttpMethod)} ${pathOf(String(properties.ResourceId))}`,
    }));
    const wanted = ROUTES.map(({ api, method, path }) => ({
      stack: stackOf(api),
      route: `${method} ${path}`,
    }));
    const inOrder = (routes: readonly { stack: string; route: string }[]) =>
      routes.toSorted((a, b) => `${a.stack}${a.route}`.localeCompare(`${b.stack}${b.route}`));
    expect(inOrder(methods)).toEqual(inOrder(wanted));
  });

  it.each(ROUTES)('$method $path calls $name, which only this API may call', (route) => {
    const handler = functionOf(environment, route.name);
    const { Integration } = methodOf(route).properties as { Integration: JsonObject };
    expect(Integration.Type).toBe('AWS_PROXY');
    expect(Integration.Uri).toContain(`${handler.name}.Arn`);
    expect(Integration.TimeoutInMillis).toBe(route.timeoutMs);
    const permissions = environment
      .all('AWS::Lambda::Permission')
      .filter(({ properties }) => properties.FunctionName === `${handler.name}.Arn`)
      .map(({ properties }) => properties);
    const api = apiIn(stackOf(route.api)).name;
    const stage = stageIn(stackOf(route.api)).name;
    const path = route.path.replaceAll(/\{\w+\}/g, '*');
    expect(permissions).toEqual([
      {
        Action: 'lambda:InvokeFunction',
        FunctionName: `${handler.name}.Arn`,
        Principal: 'apigateway.amazonaws.com',
        SourceArn: `arn:aws:execute-api:eu-west-1:ACCOUNT:${api}/${stage}/${route.method}${path}`,
      },
    ]);
  });

  it.each(ROUTES)('SEC-4 $method $path is open only where the catalogue says so', (route) => {
    const { AuthorizationType, AuthorizerId } = methodOf(route).properties;
    const authorizer = environment.only('AWS::ApiGateway::Authorizer').name;
    expect({ AuthorizationType, AuthorizerId }).toEqual(
      route.auth === 'user'
        ? { AuthorizationType: 'CUSTOM', AuthorizerId: authorizer }
        : { AuthorizationType: 'NONE', AuthorizerId: undefined },
    );
  });

  it('SEC-4 is open for health on the public API, and for nothing else', () => {
    const open = ROUTES.filter(({ api, auth }) => api === 'public' && auth !== 'user');
    expect(open.map(({ path }) => path)).toEqual(['/v1/health']);
  });

  it('ask our authorizer who calls, and trust its answer for a minute at most', () => {
    const { properties } = environment.only('AWS::ApiGateway::Authorizer');
    expect(properties).toMatchObject({
      Type: 'REQUEST',
      IdentitySource: 'method.request.header.Authorization',
      RestApiId: apiIn('control').name,
    });
    expect(properties.AuthorizerUri).toContain(
      functionOf(environment, 'api/authorize-request').name,
    );
    expect(properties.AuthorizerResultTtlInSeconds).toBeLessThanOrEqual(60);
  });

  it('HST-4 keep the host gateway private: reachable through the endpoint of the engine network only', () => {
    const endpoint = environment
      .all('AWS::EC2::VPCEndpoint')
      .find(({ properties }) => String(properties.ServiceName).endsWith('.execute-api'))?.name;
    const { properties } = apiIn('execution');
    expect(properties.EndpointConfiguration).toEqual({
      Types: ['PRIVATE'],
      VpcEndpointIds: [endpoint],
    });
    const anyone = {
      Action: 'execute-api:Invoke',
      Principal: { AWS: '*' },
      Resource: 'execute-api:/*',
    };
    expect((properties.Policy as JsonObject).Statement).toEqual([
      { ...anyone, Effect: 'Allow' },
      {
        ...anyone,
        Effect: 'Deny',
        Condition: { StringNotEquals: { 'aws:SourceVpce': endpoint } },
      },
    ]);
  });

  it('TRM-7 stream events for as long as the function runs, from a regional endpoint', () => {
    const streaming = ROUTES.filter((route) => route.streaming);
    expect(streaming.map(({ name }) => name)).toContain('api/stream-run-events');
    for (const route of streaming) {
      const { Integration } = methodOf(route).properties as { Integration: JsonObject };
      expect(Integration).toMatchObject({
        ResponseTransferMode: 'STREAM',
        TimeoutInMillis: route.timeoutMs,
      });
      expect(Integration.Uri).toMatch(
        /\/2021-11-15\/functions\/.+\/response-streaming-invocations$/,
      );
    }
    expect(streaming.find(({ name }) => name === 'api/stream-run-events')?.timeoutMs).toBe(900_000);
    // An edge endpoint cuts a stream that is silent for 30 s.
    expect(apiIn('control').properties.EndpointConfiguration).toEqual({ Types: ['REGIONAL'] });
    const buffered = ROUTES.filter((route) => !route.streaming).map(methodOf);
    for (const { properties } of buffered) {
      const { ResponseTransferMode, TimeoutInMillis } = properties.Integration as JsonObject;
      expect(ResponseTransferMode).toBeUndefined();
      expect(TimeoutInMillis).toBeLessThanOrEqual(29_000);
    }
  });

  it('limit the rate of users, speak no old TLS, and log every request without its headers', () => {
    for (const stack of ['control', 'execution'] as const) {
      const api = apiIn(stack);
      expect(api.properties.SecurityPolicy).toBe('SecurityPolicy_TLS13_1_2_PQ_2025_09');
      expect(api.properties.EndpointAccessMode).toBe('STRICT');
      const stage = stageIn(stack);
      expect(stage.properties).toMatchObject({ RestApiId: api.name, TracingEnabled: true });
      const { Format } = stage.properties.AccessLogSetting as JsonObject;
      expect(Object.keys(JSON.parse(String(Format)))).toContain('latencyMs');
      expect(Format).not.toMatch(/header|querystring|body/i);
      const [settings] = stage.properties.MethodSettings as readonly JsonObject[];
      // Would write whole requests, tokens included, to the log.
      expect(settings?.DataTraceEnabled).toBe(false);
      expect(settings?.ThrottlingRateLimit).toBe(
        stack === 'control' ? config!.publicApi.requestsPerSecond : undefined,
      );
    }
  });

  it('have stages only when API Gateway may write their logs', () => {
    const account = environment.only('AWS::ApiGateway::Account');
    expect(stageIn('execution').dependsOn).toContain(account.name);
    expect(account.stack).toBe('execution');
    expect(environment.stage.control.dependencies).toContain(environment.stage.execution);
    // One for the account: it must not go with one of its environments.
    expect(account.deletionPolicy).toBe('Retain');
  });

  it('API-1 refuse by themselves in the form in which functions do', () => {
    const responses = environment
      .all('AWS::ApiGateway::GatewayResponse')
      .filter(({ stack }) => stack === 'control')
      .map(({ properties }) => properties);
    const statuses = Object.fromEntries(
      responses.map(({ ResponseType, StatusCode }) => [String(ResponseType), StatusCode]),
    );
    expect(statuses).toMatchObject({
      UNAUTHORIZED: '401',
      ACCESS_DENIED: '403',
      MISSING_AUTHENTICATION_TOKEN: '404',
      REQUEST_TOO_LARGE: '413',
      THROTTLED: '503',
      DEFAULT_5XX: '500',
    });
    for (const { StatusCode, ResponseTemplates, ResponseParameters } of responses) {
      const template = String((ResponseTemplates as JsonObject)['application/json']);
      const problem = problemSchema.parse(JSON.parse(template));
      expect(problem.requestId).toBe('$context.requestId');
      expect(problem.status).toBe(Number(StatusCode));
      expect(Object.keys(ERROR_SPECS)).toContain(problem.code);
      expect(ResponseParameters).toMatchObject({
        'gatewayresponse.header.Content-Type': "'application/problem+json'",
      });
    }
  });
});
