import { mkdirSync } from 'node:fs';
import type { AwsJsonService } from '#local/aws/kit/aws-endpoint.ts';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { Clusters } from './clusters.ts';
import { filesOf, type LocalImage } from './container-launch.ts';
import { type Emit, EventOutbox } from './event-outbox.ts';
import {
  type Admit,
  describeClusters,
  describeTaskDefinition,
  describeTasks,
  listTasks,
  runTask,
  stopTask,
  tagResource,
} from './operations.ts';
import { TaskDefinitions } from './task-definitions.ts';
import type { Place, TaskRecord } from './task-record.ts';
import { TaskStore } from './task-store.ts';
import { TaskSupervisor } from './task-supervisor.ts';

export interface EcsOptions {
  readonly state: StateDatabase;
  readonly region: string;
  readonly accountId: string;
  /** The local command that stands for an image; without one the task fails as if it could not be pulled. */
  readonly images: (image: string) => LocalImage | undefined;
  /** The whole environment of a container, besides its definition's and the overrides' variables. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /** Where the emulated services are (`AWS_ENDPOINT_URL` …); laid over `baseEnv`. */
  readonly endpointEnv?: Readonly<Record<string, string>>;
  /** Holds `<task id>/<container>.stdout.log` and `.stderr.log`. Grows; nobody empties it. */
  readonly logDir: string;
  /** Takes "ECS Task State Change" events in order, each at least once, also across restarts. */
  readonly emit: Emit;
  /** Between SIGTERM and SIGKILL, instead of the containers' `stopTimeout` (which is 30 s when unset). */
  readonly stopTimeoutMs?: number;
  /** For `secrets` of container definitions. */
  readonly resolveSecret?: (valueFrom: string) => Promise<string>;
  /** Asked once for each task of a request. */
  readonly admit?: Admit;
}

export interface RunningTask {
  readonly taskArn: string;
  readonly startedBy?: string;
  readonly lastStatus: string;
  readonly containers: readonly {
    readonly name: string;
    readonly pid: number;
    readonly stdoutFile: string;
    readonly stderrFile: string;
  }[];
}

export interface Ecs extends AwsJsonService {
  /** Tasks that have not ended and have processes. */
  runningTasks(): RunningTask[];
  /** Stops every task, waits until all have ended and their events were taken, then closes. */
  shutdown(options: { graceMs: number }): Promise<void>;
}

/**
 * Amazon ECS (Fargate) whose tasks are processes of this machine. Task, event and client-token state is in
 * `state`; tasks outlive the process that started them and are adopted by the next `openEcs`. CPU, memory,
 * image, network and role settings are kept and answered but not enforced. `close()` leaves tasks running.
 */
export function openEcs(options: EcsOptions): Ecs {
  const { state } = options;
  const place: Place = { region: options.region, accountId: options.accountId };
  mkdirSync(options.logDir, { recursive: true });
  const outbox = new EventOutbox(state, options.emit);
  const clusters = new Clusters(state, place);
  const definitions = new TaskDefinitions(state, place);
  const store = new TaskStore(state, outbox, place);
  const supervisor = new TaskSupervisor({
    store,
    definitions,
    stopTimeoutMs: options.stopTimeoutMs,
    settings: {
      images: options.images,
      env: { ...options.baseEnv, ...options.endpointEnv },
      logDir: options.logDir,
      ...(options.resolveSecret ? { resolveSecret: options.resolveSecret } : {}),
    },
  });
  const parts = { clusters, definitions, store, supervisor, place, admit: options.admit };
  store.prune();
  supervisor.recover();
  outbox.wake();

  const close = async () => {
    await supervisor.close();
    await outbox.close();
  };
  return {
    targetPrefixes: ['AmazonEC2ContainerServiceV20141113'],
    jsonVersion: '1.1',
    operations: {
      CreateCluster: (input) => ({ cluster: clusters.create(input.clusterName ?? 'default') }),
      DescribeClusters: (input) => describeClusters(parts, input),
      RegisterTaskDefinition: (input) => definitions.register(input),
      DescribeTaskDefinition: (input) => describeTaskDefinition(parts, input),
      RunTask: (input) => runTask(parts, input),
      DescribeTasks: (input) => describeTasks(parts, input),
      ListTasks: (input) => listTasks(parts, input),
      StopTask: (input) => stopTask(parts, input),
      TagResource: (input) => tagResource(parts, input),
    },
    runningTasks: () => store.unfinished().flatMap((record) => describeRunning(options, record)),
    async shutdown({ graceMs }) {
      await supervisor.stopAll(graceMs);
      await outbox.flushed();
      await close();
    },
    close,
  };
}

function describeRunning({ logDir }: EcsOptions, record: TaskRecord): RunningTask[] {
  const { taskArn, startedBy, lastStatus } = record.task;
  const containers = Object.entries(record.processes).map(([name, process]) => ({
    name,
    pid: process.main.pid,
    ...filesOf(logDir, record.id, name),
  }));
  if (containers.length === 0) return [];
  return [{ taskArn, lastStatus, containers, ...(startedBy === undefined ? {} : { startedBy }) }];
}
