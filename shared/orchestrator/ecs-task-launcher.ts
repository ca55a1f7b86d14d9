import {
  ConflictException,
  DescribeTasksCommand,
  type ECSClient,
  InvalidParameterException,
  RunTaskCommand,
  type RunTaskCommandInput,
  type RunTaskCommandOutput,
  StopTaskCommand,
} from '@aws-sdk/client-ecs';
import { executionError } from '#shared/contracts/index.ts';
import type { TaskState } from '#shared/runs/index.ts';
import { TASK_ENVIRONMENT } from '#shared/topology/index.ts';
import type { LaunchOutcome, LaunchRequest, TaskControl, TaskLauncher } from './ports.ts';
import { launchToken, taskStartedBy } from './task-identity.ts';

export interface EcsTaskSettings {
  readonly clusterArn: string;
  /** With its revision: a deployment in between must not change what an attempt runs. */
  readonly taskDefinitionArn: string;
  readonly containerName: string;
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly gatewayUrl: string;
}

/** What `failures[].reason` says when trying again cannot help. */
const PERMANENT_FAILURES = /^(MISSING|INACTIVE|ACCESS_DENIED)/;

/** Stops and looks at tasks of one cluster. */
export class EcsTaskControl implements TaskControl {
  protected readonly client: ECSClient;
  protected readonly clusterArn: string;

  constructor(client: ECSClient, clusterArn: string) {
    this.client = client;
    this.clusterArn = clusterArn;
  }

  async stop(taskArn: string, reason: string): Promise<void> {
    try {
      await this.client.send(
        new StopTaskCommand({
          cluster: this.clusterArn,
          task: taskArn,
          reason: reason.slice(0, 200),
        }),
      );
    } catch (error) {
      // The control plane forgets stopped tasks after a while.
      if (error instanceof InvalidParameterException) return;
      throw error;
    }
  }

  async state(taskArn: string): Promise<TaskState> {
    const reply = await this.client.send(
      new DescribeTasksCommand({ cluster: this.clusterArn, tasks: [taskArn] }),
    );
    const task = reply.tasks?.[0];
    if (!task)
      return reply.failures?.some(({ reason }) => reason === 'MISSING') ? 'missing' : 'unknown';
    return task.lastStatus === 'STOPPED' ? 'stopped' : 'running';
  }
}

/** One isolated Fargate task for one attempt. The task is told its run, the gateway and a one-time ticket: no more. */
export class EcsTaskLauncher extends EcsTaskControl implements TaskLauncher {
  readonly #settings: EcsTaskSettings;

  constructor(client: ECSClient, settings: EcsTaskSettings) {
    super(client, settings.clusterArn);
    this.#settings = settings;
  }

  async launch(request: LaunchRequest): Promise<LaunchOutcome> {
    let reply: RunTaskCommandOutput;
    try {
      reply = await this.client.send(new RunTaskCommand(this.#input(request)));
    } catch (error) {
      // Launched before with other parameters (a deployment came between): that task is the one.
      if (error instanceof ConflictException) {
        const [taskArn] = error.resourceIds ?? [];
        if (taskArn) return { outcome: 'launched', taskArn };
      }
      throw error;
    }
    const { tasks, failures } = reply;
    const taskArn = tasks?.[0]?.taskArn;
    if (taskArn) return { outcome: 'launched', taskArn };
    const reason =
      failures?.map((failure) => failure.detail ?? failure.reason).join('; ') || 'no task was made';
    return {
      outcome: 'refused',
      error: executionError('launch_failed', `the task was not started: ${reason}`),
      permanent:
        failures?.some((failure) => PERMANENT_FAILURES.test(failure.reason ?? '')) ?? false,
    };
  }

  #input(request: LaunchRequest): RunTaskCommandInput {
    const { ref, epoch, ticket } = request;
    const { subnets, securityGroups } = this.#settings;
    return {
      cluster: this.clusterArn,
      taskDefinition: this.#settings.taskDefinitionArn,
      launchType: 'FARGATE',
      count: 1,
      clientToken: launchToken(ref, epoch),
      startedBy: taskStartedBy(ref, epoch),
      networkConfiguration: {
        awsvpcConfiguration: {
          subnets: [...subnets],
          securityGroups: [...securityGroups],
          assignPublicIp: 'DISABLED',
        },
      },
      overrides: {
        containerOverrides: [
          {
            name: this.#settings.containerName,
            environment: [
              { name: TASK_ENVIRONMENT.runId, value: ref.runId },
              { name: TASK_ENVIRONMENT.gatewayUrl, value: this.#settings.gatewayUrl },
              { name: TASK_ENVIRONMENT.ticket, value: ticket },
            ],
          },
        ],
      },
    };
  }
}
