import { Stack } from 'aws-cdk-lib';
import type { Vpc } from 'aws-cdk-lib/aws-ec2';
import {
  CfnFirewallConfig,
  CfnFirewallDomainList,
  CfnFirewallRuleGroup,
  CfnFirewallRuleGroupAssociation,
} from 'aws-cdk-lib/aws-route53resolver';
import { Construct } from 'constructs';

/** AWS keeps priorities up to 100 for itself. */
const ASSOCIATION_PRIORITY = 101;

/**
 * Answers only for the names of the endpoints. Without it a network with no route out still leaks: the resolver of
 * the VPC asks the internet about any name, and a name can carry data.
 */
export class DnsFirewall extends Construct {
  constructor(scope: Construct, id: string, vpc: Vpc) {
    super(scope, id);
    const endpoints = new CfnFirewallDomainList(this, 'Endpoints', {
      domains: endpointNames(Stack.of(this)),
    });
    const everything = new CfnFirewallDomainList(this, 'Everything', { domains: ['*'] });
    const rules = new CfnFirewallRuleGroup(this, 'Rules', {
      firewallRules: [
        {
          action: 'ALLOW',
          firewallDomainListId: endpoints.attrId,
          // The names of endpoints are aliases of names that are not in the list.
          firewallDomainRedirectionAction: 'TRUST_REDIRECTION_DOMAIN',
          priority: 100,
        },
        {
          action: 'BLOCK',
          blockResponse: 'NXDOMAIN',
          firewallDomainListId: everything.attrId,
          priority: 200,
        },
      ],
    });
    new CfnFirewallRuleGroupAssociation(this, 'Association', {
      firewallRuleGroupId: rules.attrId,
      vpcId: vpc.vpcId,
      priority: ASSOCIATION_PRIORITY,
    });
    new CfnFirewallConfig(this, 'FailClosed', {
      resourceId: vpc.vpcId,
      firewallFailOpen: 'DISABLED',
    });
  }
}

function endpointNames({ region, urlSuffix }: Stack): string[] {
  const at = `${region}.${urlSuffix}`;
  return [
    `api.ecr.${at}`,
    `*.dkr.ecr.${at}`,
    `logs.${at}`,
    `*.execute-api.${at}`,
    `s3.${at}`,
    `*.s3.${at}`,
  ];
}
