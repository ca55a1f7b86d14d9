import { Stack } from 'aws-cdk-lib';
import { CfnTaskDefinition } from 'aws-cdk-lib/aws-ecs';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { TASK_CONTAINER_NAME } from '#shared/topology/index.ts';
import {
  logGroupName,
  type PlatformContext,
  physicalName,
  removalPolicyOf,
} from '../platform-context.ts';
import { engineImage, type PulledImage } from './engine-image.ts';

/** The longest that Fargate waits between SIGTERM and SIGKILL. */
const STOP_TIMEOUT_SECONDS = 120;

/** Full logs lose lines instead of stopping the host in the middle of a write. */
const LOG_BUFFER = '25m';

/**
 * Fargate starts containers with Docker's default set and allows no addition that would help here. The host keeps
 * what its sandbox needs, as a test finds out by running it: SETUID and SETGID to give each engine a user of its own,
 * KILL to signal what that user runs, CHOWN for the folders it hands over and takes back. These are the others
 * of the default set.
 */
const DROPPED_CAPABILITIES = [
  'AUDIT_WRITE',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'MKNOD',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SETFCAP',
  'SETPCAP',
  'SYS_CHROOT',
];

/** The image is read-only; these are the only places a task can write to, and they end with it. */
const WRITABLE = { work: '/work', tmp: '/tmp' };

/** What every task is told; what one task is told comes with its launch. The image says where its programs are. */
const ENVIRONMENT = {
  NEXUSDESK_WORK_ROOT: `${WRITABLE.work}/runs`,
  NEXUSDESK_SANDBOX: 'uid',
};

/**
 * The task that runs one engine. Written in CloudFormation's own terms, because the library's task definition
 * always makes a task role, and that there is none is the point: no credentials of AWS exist inside the task.
 */
export class EngineTask extends Construct {
  readonly family: string;
  /** With its revision: what runs is what was deployed, not what is newest. */
  readonly definitionArn: string;
  readonly executionRole: Role;

  constructor(scope: Construct, id: string, context: PlatformContext) {
    super(scope, id);
    const { config } = context;
    const image = engineImage(this, 'Image', context);
    const logGroup = new LogGroup(this, 'Logs', {
      logGroupName: logGroupName(config, 'engine-tasks'),
      retention: config.logRetention,
      removalPolicy: removalPolicyOf(config),
    });
    this.executionRole = this.#createExecutionRole(image, logGroup);
    this.family = physicalName(config, 'engine');
    const definition = new CfnTaskDefinition(this, 'Definition', {
      family: this.family,
      requiresCompatibilities: ['FARGATE'],
      networkMode: 'awsvpc',
      cpu: String(config.task.cpu),
      memory: String(config.task.memoryMiB),
      ephemeralStorage: { sizeInGiB: config.task.ephemeralStorageGiB },
      runtimePlatform: {
        cpuArchitecture: config.task.cpuArchitecture,
        operatingSystemFamily: 'LINUX',
      },
      executionRoleArn: this.executionRole.roleArn,
      volumes: Object.keys(WRITABLE).map((name) => ({ name })),
      containerDefinitions: [this.#container(image, logGroup)],
    });
    // A task that starts before the role may pull fails with an error that names neither.
    definition.node.addDependency(this.executionRole);
    this.definitionArn = definition.ref;
  }

  #container(
    image: PulledImage,
    logGroup: LogGroup,
  ): CfnTaskDefinition.ContainerDefinitionProperty {
    return {
      name: TASK_CONTAINER_NAME,
      image: image.uri,
      essential: true,
      // Root without most of root's powers: only it may start a process as another user.
      user: '0',
      readonlyRootFilesystem: true,
      linuxParameters: {
        // Orphans of an engine are reaped, and SIGTERM reaches the host.
        initProcessEnabled: true,
        capabilities: { drop: DROPPED_CAPABILITIES },
      },
      environment: Object.entries(ENVIRONMENT).map(([name, value]) => ({ name, value })),
      mountPoints: Object.entries(WRITABLE).map(([sourceVolume, containerPath]) => ({
        sourceVolume,
        containerPath,
        readOnly: false,
      })),
      stopTimeout: STOP_TIMEOUT_SECONDS,
      logConfiguration: {
        logDriver: 'awslogs',
        options: {
          'awslogs-group': logGroup.logGroupName,
          'awslogs-region': Stack.of(this).region,
          'awslogs-stream-prefix': 'run',
          mode: 'non-blocking',
          'max-buffer-size': LOG_BUFFER,
        },
      },
    };
  }

  /** Used by Fargate before the container exists; its credentials never reach the container. */
  #createExecutionRole(image: PulledImage, logGroup: LogGroup): Role {
    const { account, region, partition } = Stack.of(this);
    const role = new Role(this, 'ExecutionRole', {
      assumedBy: new ServicePrincipal('ecs-tasks.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': account },
          ArnLike: { 'aws:SourceArn': `arn:${partition}:ecs:${region}:${account}:*` },
        },
      }),
    });
    logGroup.grantWrite(role);
    role.addToPolicy(
      new PolicyStatement({
        actions: [
          'ecr:BatchCheckLayerAvailability',
          'ecr:BatchGetImage',
          'ecr:GetDownloadUrlForLayer',
        ],
        resources: [image.repositoryArn],
      }),
    );
    role.addToPolicy(
      // Has no resource to name: the token is for the registry.
      new PolicyStatement({ actions: ['ecr:GetAuthorizationToken'], resources: ['*'] }),
    );
    return role;
  }
}
