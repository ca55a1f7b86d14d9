import { type CfnAccount, EndpointType, type RestApi } from 'aws-cdk-lib/aws-apigateway';
import type { InterfaceVpcEndpoint } from 'aws-cdk-lib/aws-ec2';
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { PlatformContext } from '../platform-context.ts';
import type { PlatformFunction } from './platform-function.ts';
import { addRoute, addressOf, createRestApi } from './rest-api.ts';

/**
 * The private API that hosts speak to. It has no address on the internet, and refuses calls that come through any
 * other endpoint than that of the engine network. Who calls is decided by its functions, from ticket or token.
 */
export class HostGateway extends Construct {
  readonly address: string;
  readonly #api: RestApi;

  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly context: PlatformContext;
      readonly endpoint: InterfaceVpcEndpoint;
      readonly logging: CfnAccount;
    },
  ) {
    super(scope, id);
    this.#api = createRestApi(this, 'Api', {
      context: props.context,
      name: 'host-gateway',
      description: 'Claims, events, heartbeats and results of the hosts in engine tasks',
      endpointConfiguration: { types: [EndpointType.PRIVATE], vpcEndpoints: [props.endpoint] },
      policy: onlyThrough(props.endpoint),
      logging: props.logging,
    });
    this.address = addressOf(this.#api);
  }

  add(handler: PlatformFunction): void {
    addRoute(this.#api, handler);
  }
}

function onlyThrough(endpoint: InterfaceVpcEndpoint): PolicyDocument {
  const invoke = {
    principals: [new AnyPrincipal()],
    actions: ['execute-api:Invoke'],
    resources: ['execute-api:/*'],
  };
  return new PolicyDocument({
    statements: [
      new PolicyStatement({ ...invoke, effect: Effect.ALLOW }),
      new PolicyStatement({
        ...invoke,
        effect: Effect.DENY,
        conditions: { StringNotEquals: { 'aws:SourceVpce': endpoint.vpcEndpointId } },
      }),
    ],
  });
}
