import { Duration } from 'aws-cdk-lib';
import {
  EndpointType,
  type IAuthorizer,
  IdentitySource,
  RequestAuthorizer,
  type RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import { Construct } from 'constructs';
import type { PlatformContext } from '../platform-context.ts';
import type { PlatformFunction } from './platform-function.ts';
import { addRoute, addressOf, createRestApi } from './rest-api.ts';

/** A token that its issuer takes back is let in for as long as this. */
const AUTHORIZATION_CACHE = Duration.minutes(1);

/**
 * Regional, since an edge endpoint cuts a silent stream after 30 s. REST, since HTTP APIs cannot stream. Every
 * route asks the authorizer, except those that the catalogue declares open.
 */
export class PublicApi extends Construct {
  readonly address: string;
  readonly #api: RestApi;
  readonly #authorizer: IAuthorizer;

  constructor(
    scope: Construct,
    id: string,
    props: {
      readonly context: PlatformContext;
      readonly authorizer: PlatformFunction;
    },
  ) {
    super(scope, id);
    const { context } = props;
    this.#api = createRestApi(this, 'Api', {
      context,
      name: 'api',
      description: 'Runs, events and engines, for users',
      endpointConfiguration: { types: [EndpointType.REGIONAL] },
      throttle: context.config.publicApi,
    });
    this.#authorizer = new RequestAuthorizer(this, 'Authorizer', {
      handler: props.authorizer.lambda,
      // Without the header API Gateway refuses by itself, at no cost.
      identitySources: [IdentitySource.header('Authorization')],
      resultsCacheTtl: AUTHORIZATION_CACHE,
    });
    this.address = addressOf(this.#api);
  }

  add(handler: PlatformFunction): void {
    const { trigger } = handler.entry;
    const open = trigger.kind === 'http' && trigger.auth === 'none';
    addRoute(this.#api, handler, open ? undefined : this.#authorizer);
  }
}
