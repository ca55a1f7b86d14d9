import type { Task } from '@aws-sdk/client-ecs';
import { EPOCH_MS } from '../kernel/kernel.ts';
import type { SimulatedTask, TaskEnd } from './task-record.ts';

/** Tasks that never ran: some may be tried again, some never. */
export const START_FAILURES: readonly TaskEnd[] = [
  {
    stopCode: 'TaskFailedToStart',
    stoppedReason: 'CannotPullContainerError: pull image: i/o timeout',
    exitCode: undefined,
  },
  {
    stopCode: 'TaskFailedToStart',
    stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
    exitCode: undefined,
  },
  {
    stopCode: 'TaskFailedToStart',
    stoppedReason: 'CannotPullContainerError: manifest unknown',
    exitCode: undefined,
  },
  {
    stopCode: 'TaskFailedToStart',
    stoppedReason: 'Capacity is unavailable at this time.',
    exitCode: undefined,
  },
];

export function endOfTask(
  how: 'exited' | 'memory' | 'stopped' | 'lost',
  exitCode?: number,
  reason?: string,
): TaskEnd {
  switch (how) {
    case 'exited':
      return {
        stopCode: 'EssentialContainerExited',
        stoppedReason: 'Essential container in task exited',
        exitCode,
        ...(exitCode === 137 ? { containerReason: 'killed' } : {}),
      };
    case 'memory':
      return {
        stopCode: 'EssentialContainerExited',
        stoppedReason: 'Essential container in task exited',
        exitCode,
        containerReason: 'OutOfMemoryError: Container killed due to memory usage',
      };
    case 'stopped':
      return { stopCode: 'UserInitiated', stoppedReason: reason ?? 'stopped', exitCode };
    case 'lost':
      return {
        stopCode: 'TerminationNotice',
        stoppedReason: 'The infrastructure of the task was lost',
        exitCode: undefined,
      };
  }
}

/** A task as DescribeTasks and the events of the control plane show it. */
export function toTask(task: SimulatedTask): Task {
  const { end } = task;
  return {
    taskArn: task.arn,
    startedBy: task.startedBy,
    lastStatus: task.status,
    desiredStatus: task.stopping || task.status === 'STOPPED' ? 'STOPPED' : 'RUNNING',
    createdAt: new Date(EPOCH_MS + task.createdAt),
    ...(end
      ? { stopCode: end.stopCode as Task['stopCode'], stoppedReason: end.stoppedReason }
      : {}),
    containers: [
      {
        name: 'runtime-host',
        lastStatus: end ? 'STOPPED' : task.status,
        ...(end?.exitCode === undefined ? {} : { exitCode: end.exitCode }),
        ...(end?.containerReason ? { reason: end.containerReason } : {}),
      },
    ],
  };
}
