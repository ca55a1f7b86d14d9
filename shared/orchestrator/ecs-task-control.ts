import {
  DescribeTasksCommand,
  type ECSClient,
  InvalidParameterException,
  ListTasksCommand,
  type ListTasksCommandInput,
  StopTaskCommand,
  type Task,
} from '@aws-sdk/client-ecs';
import type { RunRef } from '#shared/runs/index.ts';
import type { TaskControl, TaskSight } from './ports.ts';
import { executionScopeOfTask, taskStartedBy } from './task-identity.ts';
import { readTaskStop } from './task-stop.ts';

/** The most that one DescribeTasks takes, and that one ListTasks answers. */
const MOST_TASKS = 100;
const MAX_REASON = 200;

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
          reason: reason.slice(0, MAX_REASON),
        }),
      );
    } catch (error) {
      // The control plane forgets stopped tasks after a while.
      if (error instanceof InvalidParameterException) return;
      throw error;
    }
  }

  async look(taskArns: readonly string[]): Promise<TaskSight[]> {
    const seen = new Map<string, TaskSight>();
    for (let from = 0; from < taskArns.length; from += MOST_TASKS) {
      const { tasks = [], failures = [] } = await this.client.send(
        new DescribeTasksCommand({
          cluster: this.clusterArn,
          tasks: taskArns.slice(from, from + MOST_TASKS),
        }),
      );
      for (const { arn, reason } of failures) {
        if (arn && reason === 'MISSING') seen.set(arn, { taskArn: arn, state: 'missing' });
      }
      for (const task of tasks)
        if (task.taskArn) seen.set(task.taskArn, sightOf(task.taskArn, task));
    }
    return taskArns.map((taskArn) => seen.get(taskArn) ?? { taskArn, state: 'unknown' });
  }

  async find(ref: RunRef, epoch: number): Promise<TaskSight | undefined> {
    const startedBy = taskStartedBy(ref, epoch);
    for (const desiredStatus of ['RUNNING', 'STOPPED'] as const) {
      const { taskArns } = await this.#list({ startedBy, desiredStatus });
      const sights = await this.look(taskArns);
      const sight = sights.find(({ state }) => state === 'running') ?? sights[0];
      if (sight) return sight;
    }
    return undefined;
  }

  async listLive(cursor?: string): Promise<{ tasks: TaskSight[]; cursor?: string }> {
    const { taskArns, nextToken } = await this.#list({
      desiredStatus: 'RUNNING',
      maxResults: MOST_TASKS,
      ...(cursor === undefined ? {} : { nextToken: cursor }),
    });
    return {
      tasks: await this.look(taskArns),
      ...(nextToken === undefined ? {} : { cursor: nextToken }),
    };
  }

  async #list(
    input: Omit<ListTasksCommandInput, 'cluster'>,
  ): Promise<{ taskArns: string[]; nextToken: string | undefined }> {
    const { taskArns = [], nextToken } = await this.client.send(
      new ListTasksCommand({ cluster: this.clusterArn, ...input }),
    );
    return { taskArns, nextToken };
  }
}

export function sightOf(taskArn: string, task: Task): TaskSight {
  const attempt = executionScopeOfTask(task.startedBy);
  return {
    taskArn,
    ...(attempt ? { attempt } : {}),
    ...(task.createdAt ? { createdAtMs: task.createdAt.getTime() } : {}),
    ...(nothingRuns(task) ? { state: 'stopped', stop: readTaskStop(task) } : { state: 'running' }),
  };
}

/**
 * A task that is to stop may still run (B79): only its last status counts. What is being taken down after its
 * containers ended counts as stopped: giving back the network interface can take half a minute.
 */
function nothingRuns({ lastStatus, containers = [] }: Task): boolean {
  if (lastStatus === 'STOPPED') return true;
  return (
    lastStatus === 'DEPROVISIONING' &&
    containers.length > 0 &&
    containers.every((container) => container.lastStatus === 'STOPPED')
  );
}
