import { Stack } from 'aws-cdk-lib';
import type { InterfaceVpcEndpoint } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';
import { DnsFirewall } from '../constructs/dns-firewall.ts';
import { EngineNetwork } from '../constructs/engine-network.ts';
import type { PlatformStackProps } from '../platform-context.ts';

/** Where engine tasks run: a network that leads nowhere but to its endpoints. */
export class NetworkStack extends Stack {
  readonly subnetIds: readonly string[];
  readonly taskSecurityGroupId: string;
  readonly gatewayEndpoint: InterfaceVpcEndpoint;

  constructor(scope: Construct, id: string, props: PlatformStackProps) {
    super(scope, id, props);
    const network = new EngineNetwork(this, 'Engine', props.context);
    new DnsFirewall(this, 'Dns', network.vpc);
    this.subnetIds = network.vpc.isolatedSubnets.map(({ subnetId }) => subnetId);
    this.taskSecurityGroupId = network.taskSecurityGroupId;
    this.gatewayEndpoint = network.gatewayEndpoint;
    // See StateStack: exports stay, whoever uses them.
    for (const value of [
      ...this.subnetIds,
      this.taskSecurityGroupId,
      this.gatewayEndpoint.vpcEndpointId,
    ]) {
      this.exportValue(value);
    }
  }
}
