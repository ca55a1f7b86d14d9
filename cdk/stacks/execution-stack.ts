import { Stack } from 'aws-cdk-lib';
import { CfnCluster } from 'aws-cdk-lib/aws-ecs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  FUNCTIONS,
  type FunctionEntry,
  TASK_CONTAINER_NAME,
  type Use,
} from '#shared/topology/index.ts';
import { allowApiLogging } from '../constructs/api-logging.ts';
import { EngineTask } from '../constructs/engine-task.ts';
import { runOnSchedule, settleStoppedTasks } from '../constructs/event-triggers.ts';
import { HostGateway } from '../constructs/host-gateway.ts';
import { PlatformFunction } from '../constructs/platform-function.ts';
import { consumeQueue } from '../constructs/queue-trigger.ts';
import { consumeTableStream } from '../constructs/stream-trigger.ts';
import { parkingQueue } from '../constructs/work-queue.ts';
import { ACTIONS, type Offers } from '../offers.ts';
import {
  type PlatformContext,
  type PlatformStackProps,
  physicalName,
} from '../platform-context.ts';
import type { NetworkStack } from './network-stack.ts';
import type { StateStack } from './state-stack.ts';

type TaskUse = 'stopTasks' | 'describeTasks' | 'listTasks';

type FailureUse = 'reportOutboxFailures' | 'reportUsageFailures' | 'redriveFailures';

interface ExecutionProps extends PlatformStackProps {
  readonly state: StateStack;
  readonly network: NetworkStack;
  readonly enginesOffer: Offers<'engines'>;
}

/**
 * What brings a run to an engine and back: cluster, task definition, the gateway that hosts speak to, and the
 * workers around them.
 *
 * The task definition and the function that starts tasks are in one stack on purpose. Its ARN changes with each
 * image: exported, the change would be refused as long as another stack imports it; and only inside of one stack
 * does CloudFormation retire the old revision after the function has learnt of the new one.
 */
export class ExecutionStack extends Stack {
  readonly offers: Offers<TaskUse>;

  constructor(scope: Construct, id: string, props: ExecutionProps) {
    super(scope, id, props);
    const { context, state, network } = props;
    const { config } = context;
    const clusterName = physicalName(config, 'engines');
    const cluster = new CfnCluster(this, 'Cluster', {
      clusterName,
      clusterSettings: [
        { name: 'containerInsights', value: config.containerInsights ? 'enabled' : 'disabled' },
      ],
    });
    const clusterArn = cluster.attrArn;
    const task = new EngineTask(this, 'Task', context);
    const gateway = new HostGateway(this, 'HostGateway', {
      context,
      endpoint: network.gatewayEndpoint,
      logging: allowApiLogging(this, 'ApiLogging'),
    });
    this.offers = this.#taskOffers(clusterName, clusterArn);
    this.exportValue(clusterArn);

    const streamFailures = this.#createStreamFailures(context);
    const offers: Partial<Offers<Use>> = {
      ...state.offers,
      ...props.enginesOffer,
      runLimits: { environment: { RUN_LIMITS: JSON.stringify(config.runLimits ?? {}) }, allow: [] },
      ...this.offers,
      ...this.#failureOffers(streamFailures, state.tableStreamArn),
      runTasks: this.#launchOffer({ task, clusterArn, network, gatewayUrl: gateway.address }),
    };
    for (const entry of FUNCTIONS.filter(isExecution)) {
      const worker = new PlatformFunction(this, { entry, context, offers });
      this.#connect(worker, { context, state, gateway, clusterArn, streamFailures });
    }
  }

  #connect(
    worker: PlatformFunction,
    to: {
      readonly context: PlatformContext;
      readonly state: StateStack;
      readonly gateway: HostGateway;
      readonly clusterArn: string;
      readonly streamFailures: ReadonlyMap<string, Queue>;
    },
  ): void {
    const { trigger } = worker.entry;
    switch (trigger.kind) {
      case 'http':
        to.gateway.add(worker);
        break;
      case 'queue':
        consumeQueue(worker, trigger, to.state.queueArns[trigger.queue]);
        break;
      case 'tableStream':
        consumeTableStream(worker, trigger, {
          streamArn: to.state.tableStreamArn,
          failures: queueIn(to.streamFailures, worker.entry.name),
        });
        break;
      case 'schedule':
        runOnSchedule(worker, trigger);
        break;
      case 'taskStopped':
        settleStoppedTasks(worker, {
          clusterArn: to.clusterArn,
          failures: failuresOf(worker, to.context),
        });
        break;
      case 'operator':
        break;
      case 'authorizer':
        throw new Error(`${worker.entry.name}: the authorizer belongs to the public API`);
    }
  }

  #taskOffers(clusterName: string, clusterArn: string): Offers<TaskUse> {
    const environment = { CLUSTER_ARN: clusterArn };
    const tasks = this.formatArn({
      service: 'ecs',
      resource: 'task',
      resourceName: `${clusterName}/*`,
    });
    const inCluster = { ArnEquals: { 'ecs:cluster': clusterArn } };
    return {
      stopTasks: {
        environment,
        allow: [{ actions: ACTIONS.stopTasks, resources: [tasks], conditions: inCluster }],
      },
      describeTasks: {
        environment,
        allow: [{ actions: ACTIONS.describeTasks, resources: [tasks], conditions: inCluster }],
      },
      listTasks: {
        environment,
        // Its resource would be a container instance, and on Fargate there are none: the condition bounds it.
        allow: [{ actions: ACTIONS.listTasks, resources: ['*'], conditions: inCluster }],
      },
    };
  }

  /** Where the consumers of the table's stream put what they give up, by their names. */
  #createStreamFailures(context: PlatformContext): ReadonlyMap<string, Queue> {
    const parked = new Construct(this, 'StreamFailures');
    return new Map(
      FUNCTIONS.filter(({ trigger }) => trigger.kind === 'tableStream').map(({ name }) => [
        name,
        parkingQueue(parked, name.replaceAll('/', '-'), { context, name: failuresName(name) }),
      ]),
    );
  }

  #failureOffers(failures: ReadonlyMap<string, Queue>, tableStreamArn: string): Offers<FailureUse> {
    const outbox = queueIn(failures, 'workers/relay-outbox');
    const usage = queueIn(failures, 'workers/fold-usage');
    const environment = {
      OUTBOX_FAILURES_QUEUE_URL: outbox.queueUrl,
      USAGE_FAILURES_QUEUE_URL: usage.queueUrl,
    };
    return {
      reportOutboxFailures: {
        environment,
        allow: [{ actions: ACTIONS.reportOutboxFailures, resources: [outbox.queueArn] }],
      },
      reportUsageFailures: {
        environment,
        allow: [{ actions: ACTIONS.reportUsageFailures, resources: [usage.queueArn] }],
      },
      redriveFailures: {
        environment,
        allow: [
          { actions: ACTIONS.redriveFailures, resources: [outbox.queueArn, usage.queueArn] },
          // What an event source gave up is known by its place in the stream alone.
          {
            actions: ['dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
            resources: [tableStreamArn],
          },
        ],
      },
    };
  }

  #launchOffer(launch: {
    readonly task: EngineTask;
    readonly clusterArn: string;
    readonly network: NetworkStack;
    readonly gatewayUrl: string;
  }): Offers<'runTasks'>['runTasks'] {
    const { task, clusterArn, network } = launch;
    const revisions = this.formatArn({
      service: 'ecs',
      resource: 'task-definition',
      resourceName: `${task.family}:*`,
    });
    return {
      environment: {
        CLUSTER_ARN: clusterArn,
        TASK_DEFINITION_ARN: task.definitionArn,
        TASK_CONTAINER_NAME,
        TASK_SUBNETS: network.subnetIds.join(','),
        TASK_SECURITY_GROUPS: network.taskSecurityGroupId,
        GATEWAY_URL: launch.gatewayUrl,
      },
      allow: [
        {
          actions: ACTIONS.runTasks,
          resources: [revisions],
          conditions: { ArnEquals: { 'ecs:cluster': clusterArn } },
        },
        {
          // Fargate needs it to pull the image; there is no task role to pass.
          actions: ['iam:PassRole'],
          resources: [task.executionRole.roleArn],
          conditions: { StringEquals: { 'iam:PassedToService': 'ecs-tasks.amazonaws.com' } },
        },
      ],
    };
  }
}

/** Everything but the public API. */
function isExecution({ trigger }: FunctionEntry): boolean {
  return trigger.kind === 'http' ? trigger.api === 'host' : trigger.kind !== 'authorizer';
}

const failuresName = (worker: string) => `${worker}-failed`;

function queueIn(queues: ReadonlyMap<string, Queue>, worker: string): Queue {
  const queue = queues.get(worker);
  if (!queue) throw new Error(`${worker} has no queue of failures`);
  return queue;
}

/** Beside its function: the policies of the queue name the rule, and the rule the function. */
function failuresOf(worker: PlatformFunction, context: PlatformContext): Queue {
  return parkingQueue(worker, 'Failures', { context, name: failuresName(worker.entry.name) });
}
