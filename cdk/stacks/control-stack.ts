import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { FUNCTIONS, type FunctionEntry, type Use } from '#shared/topology/index.ts';
import { PlatformFunction } from '../constructs/platform-function.ts';
import { PublicApi } from '../constructs/public-api.ts';
import type { Offers } from '../offers.ts';
import type { PlatformStackProps } from '../platform-context.ts';
import type { ExecutionStack } from './execution-stack.ts';
import type { StateStack } from './state-stack.ts';

interface ControlProps extends PlatformStackProps {
  readonly state: StateStack;
  readonly execution: ExecutionStack;
  readonly enginesOffer: Offers<'engines'>;
}

/** The public API and its functions. */
export class ControlStack extends Stack {
  constructor(scope: Construct, id: string, props: ControlProps) {
    super(scope, id, props);
    const { context, state, execution } = props;
    const offers: Partial<Offers<Use>> = {
      ...state.offers,
      ...execution.offers,
      ...props.enginesOffer,
    };
    const create = (entry: FunctionEntry) => new PlatformFunction(this, { entry, context, offers });

    const [authorizer, ...others] = FUNCTIONS.filter(
      ({ trigger }) => trigger.kind === 'authorizer',
    );
    if (!authorizer || others.length > 0) throw new Error('the public API has one authorizer');
    const api = new PublicApi(this, 'PublicApi', { context, authorizer: create(authorizer) });
    for (const entry of FUNCTIONS) {
      if (entry.trigger.kind === 'http' && entry.trigger.api === 'public') api.add(create(entry));
    }
    new CfnOutput(this, 'ApiUrl', { value: api.address });
    // The account's permission to write access logs is made there.
    this.addStackDependency(execution);
  }
}
