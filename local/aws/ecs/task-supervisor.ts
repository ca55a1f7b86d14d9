import { rmSync } from 'node:fs';
import { holdContainer, type LaunchSettings, StartFailure } from './container-launch.ts';
import { type HeldProcess, type ProcessEnd, readProcessEnd } from './held-process.ts';
import { isAlive, signalProcess } from './process-identity.ts';
import { ProcessWatch } from './process-watch.ts';
import type { ContainerDefinition, TaskDefinitions } from './task-definitions.ts';
import { type StopCode, secondsNow, type Task, type TaskRecord } from './task-record.ts';
import type { TaskStore } from './task-store.ts';

const DEFAULT_STOP_TIMEOUT_MS = 30_000;

export interface StopCause {
  readonly code: StopCode;
  readonly reason: string;
}

/**
 * Takes tasks from PROVISIONING to STOPPED. What it does is recorded before it happens, so that a stack that
 * was killed goes on with {@link recover}: tasks not started yet are started, living ones are adopted, and
 * dead ones are ended.
 */
export class TaskSupervisor {
  readonly #store: TaskStore;
  readonly #definitions: TaskDefinitions;
  readonly #settings: LaunchSettings;
  readonly #watch = new ProcessWatch();
  readonly #launches = new Set<Promise<void>>();
  readonly #killTimers = new Map<string, NodeJS.Timeout>();
  readonly #waitingForNone = new Set<() => void>();
  #stopTimeoutMs: number | undefined;
  #closing = false;

  constructor(options: {
    store: TaskStore;
    definitions: TaskDefinitions;
    settings: LaunchSettings;
    /** Instead of what the containers say. */
    stopTimeoutMs?: number | undefined;
  }) {
    this.#store = options.store;
    this.#definitions = options.definitions;
    this.#settings = options.settings;
    this.#stopTimeoutMs = options.stopTimeoutMs;
  }

  /** Starts an accepted task; what goes wrong is told by the task itself. */
  start(id: string): void {
    const launch = this.#launch(id)
      .catch((error: unknown) => console.error(`local ECS: task ${id}:`, error))
      .finally(() => this.#launches.delete(launch));
    this.#launches.add(launch);
  }

  /** Asks a task to stop and returns it as it is then; STOPPED comes later. Asking again changes nothing. */
  stop(record: TaskRecord, cause: StopCause): TaskRecord {
    if (record.task.desiredStatus === 'STOPPED') return record;
    const stopping = this.#store.change(record.id, (task) => markStopping(task, cause));
    this.#terminate(stopping);
    return stopping;
  }

  recover(): void {
    for (const record of this.#store.unfinished()) {
      if (Object.keys(record.processes).length === 0) {
        if (record.task.desiredStatus === 'STOPPED') this.#finish(record.id);
        else this.start(record.id);
        continue;
      }
      this.#adopt(record);
    }
  }

  /** Stops every task (as a machine that goes away does) and waits until all have ended. */
  async stopAll(graceMs: number): Promise<void> {
    this.#stopTimeoutMs = graceMs;
    const cause: StopCause = {
      code: 'TerminationNotice',
      reason: 'The local stack is shutting down.',
    };
    for (const record of this.#store.unfinished()) {
      if (record.task.desiredStatus === 'STOPPED') this.#terminate(record);
      else this.stop(record, cause);
    }
    await new Promise<void>((resolve) => {
      this.#waitingForNone.add(resolve);
      this.#tellWhenNone();
    });
  }

  /** Lets go of the tasks; they live on. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(this.#launches);
    this.#watch.close();
    for (const timer of this.#killTimers.values()) clearTimeout(timer);
    this.#killTimers.clear();
  }

  async #launch(id: string): Promise<void> {
    const held = new Map<string, HeldProcess>();
    const abandon = () => {
      for (const each of held.values()) each.abandon();
    };
    if (this.#wasStopped(id)) return this.#finish(id);
    const record = this.#store.change(id, (task) => {
      task.lastStatus = 'PENDING';
      task.pullStartedAt = secondsNow();
    });
    try {
      for (const container of this.#containersOf(record.task)) {
        held.set(container.name, await holdContainer(this.#settings, record, container));
      }
    } catch (error) {
      abandon();
      if (!(error instanceof StartFailure)) throw error;
      if (!this.#closing) this.#failToStart(id, error);
      return;
    }
    // A later stack starts it: nothing has run.
    if (this.#closing) return abandon();
    if (this.#wasStopped(id)) {
      abandon();
      return this.#finish(id);
    }
    this.#run(id, held);
  }

  #run(id: string, held: ReadonlyMap<string, HeldProcess>): void {
    this.#store.change(id, (task, record) => {
      task.lastStatus = 'RUNNING';
      task.pullStoppedAt = secondsNow();
      task.startedAt = secondsNow();
      task.connectivity = 'CONNECTED';
      task.connectivityAt = secondsNow();
      for (const container of task.containers) {
        container.lastStatus = 'RUNNING';
        container.runtimeId = `${id}-${container.name}`;
      }
      for (const [name, { process }] of held) record.processes[name] = process;
    });
    for (const [name, each] of held) {
      this.#watch.add(each.process, (end) => this.#containerEnded(id, name, end), each.ended);
      each.release();
    }
  }

  #adopt(record: TaskRecord): void {
    const { id } = record;
    for (const [name, process] of Object.entries(record.processes)) {
      const container = record.task.containers.find((each) => each.name === name);
      if (container?.lastStatus === 'STOPPED') continue;
      if (isAlive(process.main) || isAlive(process.keeper)) {
        this.#watch.add(process, (end) => this.#containerEnded(id, name, end));
      } else {
        this.#containerEnded(id, name, readProcessEnd(process));
      }
    }
    const now = this.#store.get(id);
    if (!now || now.task.lastStatus === 'STOPPED') return;
    if (hasEnded(now.task)) this.#finish(id);
    else if (now.task.desiredStatus === 'STOPPED') this.#terminate(now);
  }

  #containerEnded(id: string, name: string, end: ProcessEnd): void {
    clearTimeout(this.#killTimers.get(`${id}/${name}`));
    this.#killTimers.delete(`${id}/${name}`);
    const record = this.#store.change(id, (task) => {
      const essential = this.#containersOf(task).find((each) => each.name === name)?.essential;
      const container = task.containers.find((each) => each.name === name);
      if (!container) return;
      container.lastStatus = 'STOPPED';
      if (end.kind === 'never_started') {
        container.reason = 'CannotStartContainerError: the host was lost before the start';
        markStopping(task, { code: 'TaskFailedToStart', reason: container.reason });
      } else {
        if (end.exitCode !== undefined) container.exitCode = end.exitCode;
        const reason = 'Essential container in task exited';
        if (essential ?? true) markStopping(task, { code: 'EssentialContainerExited', reason });
      }
      if (hasEnded(task)) markDeprovisioning(task);
    });
    const process = record.processes[name];
    if (process) rmSync(process.exitFile, { force: true });
    if (hasEnded(record.task)) this.#finish(id);
    else if (record.task.desiredStatus === 'STOPPED') this.#terminate(record);
  }

  #failToStart(id: string, failure: StartFailure): void {
    this.#store.change(id, (task) => {
      const container = task.containers.find((each) => each.name === failure.containerName);
      if (container) container.reason = failure.message;
      markStopping(task, { code: 'TaskFailedToStart', reason: failure.message });
      markDeprovisioning(task);
    });
    this.#finish(id);
  }

  #finish(id: string): void {
    this.#store.change(id, (task) => {
      markDeprovisioning(task);
      task.lastStatus = 'STOPPED';
      task.stoppedAt = secondsNow();
      for (const container of task.containers) container.lastStatus = 'STOPPED';
    });
    this.#tellWhenNone();
  }

  /** SIGTERM to what lives, and SIGKILL when its time is over; the time counts from when it was asked to stop. */
  #terminate(record: TaskRecord): void {
    const { id, task } = record;
    const stoppingAtMs = (task.stoppingAt ?? secondsNow()) * 1000;
    for (const container of this.#containersOf(task)) {
      const process = record.processes[container.name];
      const status = task.containers.find((each) => each.name === container.name)?.lastStatus;
      if (!process || status === 'STOPPED') continue;
      if (!record.terminationSent) signalProcess(process.main, 'SIGTERM');
      const stopTimeoutMs =
        this.#stopTimeoutMs ??
        (container.stopTimeout === undefined
          ? DEFAULT_STOP_TIMEOUT_MS
          : container.stopTimeout * 1000);
      const key = `${id}/${container.name}`;
      clearTimeout(this.#killTimers.get(key));
      const waitMs = Math.max(0, stoppingAtMs + stopTimeoutMs - Date.now());
      this.#killTimers.set(key, setTimeout(() => this.#watch.kill(process), waitMs).unref());
    }
    if (!record.terminationSent && Object.keys(record.processes).length > 0) {
      this.#store.note(id, (noted) => {
        noted.terminationSent = true;
      });
    }
  }

  #containersOf(task: Task): readonly ContainerDefinition[] {
    return (
      this.#definitions.find(task.taskDefinitionArn)?.taskDefinition.containerDefinitions ?? []
    );
  }

  #wasStopped(id: string): boolean {
    return this.#store.get(id)?.task.desiredStatus === 'STOPPED';
  }

  #tellWhenNone(): void {
    if (this.#waitingForNone.size === 0 || this.#store.unfinished().length > 0) return;
    for (const resolve of this.#waitingForNone) resolve();
    this.#waitingForNone.clear();
  }
}

/** The first cause stays: what happens to a task that is being stopped does not change why. */
function markStopping(task: Task, cause: StopCause): void {
  task.desiredStatus = 'STOPPED';
  task.stopCode ??= cause.code;
  task.stoppedReason ??= cause.reason;
  task.stoppingAt ??= secondsNow();
}

function markDeprovisioning(task: Task): void {
  task.lastStatus = 'DEPROVISIONING';
  task.executionStoppedAt ??= secondsNow();
}

const hasEnded = (task: Task): boolean =>
  task.containers.every((container) => container.lastStatus === 'STOPPED');
