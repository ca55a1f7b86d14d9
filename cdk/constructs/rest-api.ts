import { Duration } from 'aws-cdk-lib';
import {
  AccessLogField,
  AccessLogFormat,
  AuthorizationType,
  type CfnAccount,
  CfnRestApi,
  type IAuthorizer,
  LambdaIntegration,
  LogGroupLogDestination,
  ResponseTransferMode,
  RestApi,
  type RestApiProps,
} from 'aws-cdk-lib/aws-apigateway';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import {
  logGroupName,
  type PlatformContext,
  physicalName,
  removalPolicyOf,
} from '../platform-context.ts';
import { answerWithProblems } from './gateway-problems.ts';
import type { PlatformFunction } from './platform-function.ts';

const STAGE = 'live';

export interface ApiSettings {
  readonly context: PlatformContext;
  readonly name: string;
  readonly description: string;
  readonly endpointConfiguration: NonNullable<RestApiProps['endpointConfiguration']>;
  readonly policy?: NonNullable<RestApiProps['policy']>;
  readonly throttle?: { readonly requestsPerSecond: number; readonly burst: number };
  /** The account's permission to write access logs; a stage that comes before it fails. */
  readonly logging?: CfnAccount;
}

/** A REST API with one stage, access logs, metrics and traces. */
export function createRestApi(scope: Construct, id: string, settings: ApiSettings): RestApi {
  const { config } = settings.context;
  const accessLog = new LogGroup(scope, `${id}AccessLog`, {
    logGroupName: logGroupName(config, `${settings.name}-access`),
    retention: config.logRetention,
    removalPolicy: removalPolicyOf(config),
  });
  const api = new RestApi(scope, id, {
    restApiName: physicalName(config, settings.name),
    description: settings.description,
    endpointConfiguration: settings.endpointConfiguration,
    ...(settings.policy ? { policy: settings.policy } : {}),
    cloudWatchRole: false,
    deployOptions: {
      stageName: STAGE,
      metricsEnabled: true,
      tracingEnabled: true,
      accessLogDestination: new LogGroupLogDestination(accessLog),
      accessLogFormat: accessLogFormat(),
      ...(settings.throttle
        ? {
            throttlingRateLimit: settings.throttle.requestsPerSecond,
            throttlingBurstLimit: settings.throttle.burst,
          }
        : {}),
    },
  });
  requireModernTls(api);
  answerWithProblems(api);
  if (settings.logging) api.deploymentStage.node.addDependency(settings.logging);
  return api;
}

/** Address of the API without a slash at the end, as clients append paths to it. */
export function addressOf(api: RestApi): string {
  const { region, urlSuffix } = api.stack;
  return `https://${api.restApiId}.execute-api.${region}.${urlSuffix}/${STAGE}`;
}

/** The route of a function with an `http` trigger. Without an authorizer it is open to whoever reaches the API. */
export function addRoute(api: RestApi, handler: PlatformFunction, authorizer?: IAuthorizer): void {
  const { entry, lambda } = handler;
  if (entry.trigger.kind !== 'http') throw new Error(`${entry.name} has no route`);
  const { method, path, streaming } = entry.trigger;
  const integration = new LambdaIntegration(lambda, {
    // The console's test button needs a second permission on each function.
    allowTestInvoke: false,
    timeout: Duration.millis(entry.timeoutMs),
    ...(streaming ? { responseTransferMode: ResponseTransferMode.STREAM } : {}),
  });
  api.root
    .resourceForPath(path)
    .addMethod(
      method,
      integration,
      authorizer
        ? { authorizer, authorizationType: AuthorizationType.CUSTOM }
        : { authorizationType: AuthorizationType.NONE },
    );
}

/** TLS 1.2 at least; and only the API's own name, so that its certificate cannot front for another. */
function requireModernTls(api: RestApi): void {
  const { defaultChild } = api.node;
  if (!(defaultChild instanceof CfnRestApi)) throw new Error('the API has no resource');
  defaultChild.securityPolicy = 'SecurityPolicy_TLS13_1_2_PQ_2025_09';
  defaultChild.endpointAccessMode = 'STRICT';
}

/** Who asked for what, how it went and how long it took. No header, query or body: they may hold tokens and text. */
function accessLogFormat(): AccessLogFormat {
  return AccessLogFormat.custom(
    JSON.stringify({
      requestId: AccessLogField.contextRequestId(),
      traceId: AccessLogField.contextXrayTraceId(),
      requestedAt: AccessLogField.contextRequestTime(),
      sourceIp: AccessLogField.contextIdentitySourceIp(),
      principal: AccessLogField.contextAuthorizerPrincipalId(),
      method: AccessLogField.contextHttpMethod(),
      route: AccessLogField.contextResourcePath(),
      path: AccessLogField.contextPath(),
      status: AccessLogField.contextStatus(),
      responseBytes: AccessLogField.contextResponseLength(),
      latencyMs: AccessLogField.contextResponseLatency(),
      integrationStatus: AccessLogField.contextIntegrationStatus(),
      authorizerStatus: AccessLogField.contextAuthorizerStatus(),
      errorType: AccessLogField.contextErrorResponseType(),
    }),
  );
}
