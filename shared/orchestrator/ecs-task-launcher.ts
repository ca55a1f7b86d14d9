import {
  ConflictException,
  type ECSClient,
  RunTaskCommand,
  type RunTaskCommandInput,
} from '@aws-sdk/client-ecs';
import { executionError, PlatformError } from '#shared/contracts/index.ts';
import { TASK_ENVIRONMENT } from '#shared/topology/index.ts';
import { EcsTaskControl, sightOf } from './ecs-task-control.ts';
import {
  answerOfException,
  answerOfFailure,
  describeFault,
  type LaunchAnswer,
} from './launch-answers.ts';
import type { LaunchOutcome, LaunchRequest, TaskLauncher, TaskSight } from './ports.ts';
import { publicReason } from './public-reason.ts';
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

/** A call whose answer was lost is made once more at once: the same token buys the same task. */
const CALLS = 2;
/** Of the overrides as JSON; the service refuses more (B73, B82). */
const MOST_OVERRIDES = 8_192;

/** One isolated Fargate task for one attempt. The task is told its run, the gateway and a one-time ticket: no more. */
export class EcsTaskLauncher extends EcsTaskControl implements TaskLauncher {
  readonly #settings: EcsTaskSettings;

  constructor(client: ECSClient, settings: EcsTaskSettings) {
    super(client, settings.clusterArn);
    this.#settings = settings;
  }

  async launch(request: LaunchRequest): Promise<LaunchOutcome> {
    const input = this.#input(request);
    const { length } = JSON.stringify(input.overrides);
    if (length > MOST_OVERRIDES) {
      return refused('rejected', `its overrides have ${length} characters of at most 8192`);
    }
    const faults: unknown[] = [];
    let answer: LaunchAnswer = 'unsure';
    while (faults.length < CALLS && answer === 'unsure') {
      try {
        return await this.#run(input);
      } catch (error) {
        faults.push(error);
        answer = answerOfException(error);
      }
    }
    // A call that was refused has made nothing, but one before it may have, of this delivery or of another one.
    if (faults.length > 1 || answer !== 'rejected') {
      const found = await this.find(request.ref, request.epoch).catch((error: unknown) => {
        faults.push(error);
        answer = 'unsure';
        return undefined;
      });
      if (found) return launched(found);
    }
    const told = faults.map(describeFault).join('; then ');
    if (answer !== 'unsure') return refused(answer, told);
    throw new PlatformError('launch_failed', `nobody knows whether the task was made: ${told}`, {
      cause: new AggregateError(faults),
    });
  }

  async #run(input: RunTaskCommandInput): Promise<LaunchOutcome> {
    try {
      const { tasks, failures = [] } = await this.client.send(new RunTaskCommand(input));
      const [task] = tasks ?? [];
      if (task?.taskArn) return launched(sightOf(task.taskArn, task));
      const reasons = failures.map(({ reason, detail }) =>
        [reason, detail].filter(Boolean).join(': '),
      );
      return refused(
        failures.some(({ reason }) => answerOfFailure(reason) === 'rejected')
          ? 'rejected'
          : 'no_room',
        reasons.join('; ') || 'no task was made, and no reason given',
      );
    } catch (error) {
      // Launched before with other parameters (a deployment came between): that task is the one.
      const [taskArn] = error instanceof ConflictException ? (error.resourceIds ?? []) : [];
      if (!taskArn) throw error;
      const [sight] = await this.look([taskArn]);
      return launched(sight ?? { taskArn, state: 'unknown' });
    }
  }

  #input(request: LaunchRequest): RunTaskCommandInput & { overrides: object } {
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

/** A token asked with again answers the task as it is now: one that has stopped is no launch. */
function launched({ taskArn, stop }: TaskSight): LaunchOutcome {
  return stop ? { outcome: 'stopped', taskArn, stop } : { outcome: 'launched', taskArn };
}

function refused(answer: 'rejected' | 'no_room', why: string): LaunchOutcome {
  return {
    outcome: 'refused',
    error: executionError('launch_failed', publicReason(`the task was not started: ${why}`), {
      details: { answer },
    }),
    permanent: answer === 'rejected',
  };
}
