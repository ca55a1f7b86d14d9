import { Stack } from 'aws-cdk-lib';
import {
  CfnSecurityGroup,
  CfnSecurityGroupIngress,
  FlowLogDestination,
  FlowLogTrafficType,
  GatewayVpcEndpointAwsService,
  type InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  IpAddresses,
  SecurityGroup,
  SubnetType,
  Vpc,
} from 'aws-cdk-lib/aws-ec2';
import { AnyPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { logGroupName, type PlatformContext, removalPolicyOf } from '../platform-context.ts';
import { s3PrefixListOf } from '../stage-config.ts';

const HTTPS = 443;
/** About 4,000 addresses per zone: every engine task takes one. */
const SUBNET_MASK = 20;

/**
 * The network of engine tasks: no internet gateway, no NAT, no way in. The only ways out are endpoints for pulling
 * the image, for logs and for the host gateway, and each endpoint serves this account alone: otherwise an engine
 * with keys of its own could carry data out through it.
 */
export class EngineNetwork extends Construct {
  readonly vpc: Vpc;
  readonly taskSecurityGroupId: string;
  readonly gatewayEndpoint: InterfaceVpcEndpoint;
  readonly #endpointSecurityGroup: SecurityGroup;

  constructor(scope: Construct, id: string, context: PlatformContext) {
    super(scope, id);
    this.vpc = this.#createVpc(context);
    this.#logRejectedTraffic(context);

    this.#endpointSecurityGroup = new SecurityGroup(this, 'EndpointGroup', {
      vpc: this.vpc,
      description: 'Endpoints of engine tasks',
      allowAllOutbound: false,
    });
    this.taskSecurityGroupId = this.#createTaskGroup(context);
    // On its own: inside of the group it would make the two groups need each other.
    new CfnSecurityGroupIngress(this, 'TasksToEndpoints', {
      groupId: this.#endpointSecurityGroup.securityGroupId,
      sourceSecurityGroupId: this.taskSecurityGroupId,
      ipProtocol: 'tcp',
      fromPort: HTTPS,
      toPort: HTTPS,
      description: 'Engine tasks',
    });

    this.gatewayEndpoint = this.#addGatewayApiEndpoint();
    this.#addLogEndpoint(context);
    this.#addImageEndpoints();
  }

  #createVpc({ config }: PlatformContext): Vpc {
    return new Vpc(this, 'Vpc', {
      ipAddresses: IpAddresses.cidr(config.network.cidr),
      maxAzs: config.network.availabilityZones,
      natGateways: 0,
      createInternetGateway: false,
      subnetConfiguration: [
        { name: 'engine', subnetType: SubnetType.PRIVATE_ISOLATED, cidrMask: SUBNET_MASK },
      ],
      // Nothing is ever put into it, and closing it takes a function with rights on security groups.
      restrictDefaultSecurityGroup: false,
    });
  }

  /** What a task tried in vain is worth keeping; what is allowed goes to endpoints that log by themselves. */
  #logRejectedTraffic({ config }: PlatformContext): void {
    const logGroup = new LogGroup(this, 'RejectedTraffic', {
      logGroupName: logGroupName(config, 'rejected-traffic'),
      retention: config.logRetention,
      removalPolicy: removalPolicyOf(config),
    });
    this.vpc.addFlowLog('Rejected', {
      destination: FlowLogDestination.toCloudWatchLogs(logGroup),
      trafficType: FlowLogTrafficType.REJECT,
    });
  }

  /**
   * In CloudFormation's own terms, to have the rules inside of the group. The library would write them beside it,
   * and a group that says nothing about the way out starts with all of it open.
   */
  #createTaskGroup({ config }: PlatformContext): string {
    const https = { ipProtocol: 'tcp', fromPort: HTTPS, toPort: HTTPS };
    const group = new CfnSecurityGroup(this, 'TaskGroup', {
      vpcId: this.vpc.vpcId,
      groupDescription: 'Engine tasks',
      securityGroupEgress: [
        {
          ...https,
          destinationSecurityGroupId: this.#endpointSecurityGroup.securityGroupId,
          description: 'Endpoints',
        },
        {
          ...https,
          destinationPrefixListId: s3PrefixListOf(config),
          description: 'Image layers, through the gateway endpoint',
        },
      ],
    });
    return group.attrGroupId;
  }

  #addEndpoint(id: string, service: InterfaceVpcEndpointAwsService): InterfaceVpcEndpoint {
    return this.vpc.addInterfaceEndpoint(id, {
      service,
      subnets: { subnetType: SubnetType.PRIVATE_ISOLATED },
      securityGroups: [this.#endpointSecurityGroup],
      open: false,
      privateDnsEnabled: true,
    });
  }

  #addGatewayApiEndpoint(): InterfaceVpcEndpoint {
    const { account, region, partition } = Stack.of(this);
    const endpoint = this.#addEndpoint('ExecuteApi', InterfaceVpcEndpointAwsService.APIGATEWAY);
    endpoint.addToPolicy(
      new PolicyStatement({
        // A call with a bearer token is anonymous here; the gateway's functions check the token.
        principals: [new AnyPrincipal()],
        actions: ['execute-api:Invoke'],
        resources: [`arn:${partition}:execute-api:${region}:${account}:*`],
      }),
    );
    return endpoint;
  }

  #addLogEndpoint({ config }: PlatformContext): void {
    const { account, region, partition } = Stack.of(this);
    const group = logGroupName(config, 'engine-tasks');
    this.#addEndpoint('Logs', InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS).addToPolicy(
      this.#ownAccountMay(
        ['logs:CreateLogStream', 'logs:PutLogEvents'],
        [`arn:${partition}:logs:${region}:${account}:log-group:${group}:*`],
      ),
    );
  }

  #addImageEndpoints(): void {
    const { region, partition } = Stack.of(this);
    const pull = [
      this.#ownAccountMay(['ecr:GetAuthorizationToken'], ['*']),
      this.#ownAccountMay(
        ['ecr:BatchCheckLayerAvailability', 'ecr:BatchGetImage', 'ecr:GetDownloadUrlForLayer'],
        [`arn:${partition}:ecr:${region}:*:repository/*`],
      ),
    ];
    for (const [id, service] of [
      ['EcrApi', InterfaceVpcEndpointAwsService.ECR],
      ['EcrDocker', InterfaceVpcEndpointAwsService.ECR_DOCKER],
    ] as const) {
      const endpoint = this.#addEndpoint(id, service);
      for (const statement of pull) endpoint.addToPolicy(statement.copy());
    }
    this.vpc.addGatewayEndpoint('S3', { service: GatewayVpcEndpointAwsService.S3 }).addToPolicy(
      new PolicyStatement({
        principals: [new AnyPrincipal()],
        actions: ['s3:GetObject'],
        // ECR keeps the layers of all images in a bucket of AWS and signs the links to them.
        resources: [`arn:${partition}:s3:::prod-${region}-starport-layer-bucket/*`],
      }),
    );
  }

  #ownAccountMay(actions: string[], resources: string[]): PolicyStatement {
    return new PolicyStatement({
      principals: [new AnyPrincipal()],
      actions,
      resources,
      conditions: { StringEquals: { 'aws:PrincipalAccount': Stack.of(this).account } },
    });
  }
}
