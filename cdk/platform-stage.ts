import { Stage, Tags } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { deployedEngines } from './installed-engines.ts';
import type { Offers } from './offers.ts';
import { type PlatformContext, type PlatformStackProps, physicalName } from './platform-context.ts';
import { AlarmStack } from './stacks/alarm-stack.ts';
import { ControlStack } from './stacks/control-stack.ts';
import { ExecutionStack } from './stacks/execution-stack.ts';
import { NetworkStack } from './stacks/network-stack.ts';
import { StateStack } from './stacks/state-stack.ts';

/**
 * One complete environment. References point one way: control → execution → network and state.
 *
 * The account is left open, so that synthesis needs no credentials and looks nothing up; it is that of whoever
 * deploys.
 */
export class PlatformStage extends Stage {
  readonly state: StateStack;
  readonly network: NetworkStack;
  readonly execution: ExecutionStack;
  readonly control: ControlStack;
  readonly alarms: AlarmStack;

  constructor(scope: Construct, context: PlatformContext) {
    const { config, sourceRoot } = context;
    super(scope, config.name, { env: { region: config.region } });
    const stackProps = (name: string): PlatformStackProps => ({
      context,
      stackName: physicalName(config, name),
      terminationProtection: config.protectData,
    });
    const enginesOffer: Offers<'engines'> = {
      engines: {
        environment: { DEPLOYED_ENGINES: JSON.stringify(deployedEngines(config, sourceRoot)) },
        allow: [],
      },
    };
    this.state = new StateStack(this, 'State', stackProps('state'));
    this.network = new NetworkStack(this, 'Network', stackProps('network'));
    this.execution = new ExecutionStack(this, 'Execution', {
      ...stackProps('execution'),
      state: this.state,
      network: this.network,
      enginesOffer,
    });
    this.control = new ControlStack(this, 'Control', {
      ...stackProps('control'),
      state: this.state,
      execution: this.execution,
      enginesOffer,
    });
    this.alarms = new AlarmStack(this, 'Alarms', stackProps('alarms'));
    Tags.of(this).add('project', 'nexusdesk');
    Tags.of(this).add('environment', config.name);
  }
}
