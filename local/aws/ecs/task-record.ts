import type { ContainerProcess } from './held-process.ts';

/** Where the emulated service stands; part of every ARN. */
export interface Place {
  readonly region: string;
  readonly accountId: string;
}
export interface KeyValue {
  readonly name: string;
  readonly value: string;
}
export interface Tag {
  readonly key: string;
  readonly value?: string;
}

export type TaskStatus = 'PROVISIONING' | 'PENDING' | 'RUNNING' | 'DEPROVISIONING' | 'STOPPED';
export type StopCode =
  | 'TaskFailedToStart'
  | 'EssentialContainerExited'
  | 'UserInitiated'
  | 'TerminationNotice';

export interface TaskContainer {
  containerArn: string;
  taskArn: string;
  name: string;
  image: string;
  lastStatus: 'PENDING' | 'RUNNING' | 'STOPPED';
  /** Absent when the container never ran, and when nobody saw how it ended. */
  exitCode?: number;
  reason?: string;
  runtimeId?: string;
  cpu: string;
  networkInterfaces: unknown[];
}

/** A task as DescribeTasks answers it. Times are seconds since the epoch, with a fraction. */
export interface Task {
  taskArn: string;
  clusterArn: string;
  taskDefinitionArn: string;
  lastStatus: TaskStatus;
  desiredStatus: 'RUNNING' | 'STOPPED';
  /** Rises by one with each change; orders the events of a task. */
  version: number;
  containers: TaskContainer[];
  overrides: unknown;
  attachments: unknown[];
  attributes: unknown[];
  group: string;
  launchType: string;
  platformVersion: string;
  platformFamily: string;
  availabilityZone: string;
  enableExecuteCommand: boolean;
  healthStatus: string;
  cpu?: string;
  memory?: string;
  ephemeralStorage?: unknown;
  startedBy?: string;
  connectivity?: string;
  connectivityAt?: number;
  createdAt: number;
  pullStartedAt?: number;
  pullStoppedAt?: number;
  startedAt?: number;
  stoppingAt?: number;
  executionStoppedAt?: number;
  stoppedAt?: number;
  stopCode?: StopCode;
  stoppedReason?: string;
}

/** A task as it is stored. */
export interface TaskRecord {
  readonly id: string;
  readonly clusterName: string;
  readonly family: string;
  readonly task: Task;
  tags: Tag[];
  /** By container name; filled just before the commands start. */
  processes: Record<string, ContainerProcess>;
  /** SIGTERM has been sent, so a later stack does not send it again. */
  terminationSent?: true;
}

export const secondsNow = (): number => Date.now() / 1000;

export function arnOf(place: Place, resource: string): string {
  return `arn:aws:ecs:${place.region}:${place.accountId}:${resource}`;
}
