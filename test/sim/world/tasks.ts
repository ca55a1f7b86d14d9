import type {
  DescribeTasksCommandInput,
  ListTasksCommandInput,
  RunTaskCommandInput,
  StopTaskCommandInput,
  Task,
} from '@aws-sdk/client-ecs';
import type { Kernel } from '../kernel/kernel.ts';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Faults } from './faults.ts';
import type { Services } from './service.ts';
import type { HostProcess, SimulatedTask, TaskEnd } from './task-record.ts';
import { endOfTask, START_FAILURES, toTask } from './task-view.ts';

export interface TasksOptions {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly services: Services;
  /** Starts the host; `exited` is told its exit code, after a kill too. */
  readonly startHost: (task: SimulatedTask, exited: (code: number) => void) => HostProcess;
  /** "ECS Task State Change" events. */
  readonly announce: (event: object) => void;
}

/** From SIGTERM to SIGKILL. */
const STOP_TIMEOUT_MS = 30_000;
const KILLED = 137;
const UNSEEN_MS = 8_000;

/** ECS: tasks that start late or not at all, stop slowly, die, or go on although they are said to be gone. */
export class SimulatedTasks implements CommandSender {
  readonly #options: TasksOptions;
  readonly #tasks = new Map<string, SimulatedTask>();
  readonly #byToken = new Map<string, SimulatedTask>();

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  get all(): readonly SimulatedTask[] {
    return [...this.#tasks.values()];
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    const operation = operationOf(command);
    const input = command.input as never;
    const effects: Record<string, () => object> = {
      RunTask: () => this.#run(input),
      StopTask: () => this.#stop(input),
      DescribeTasks: () => this.#describe(input),
      ListTasks: () => this.#list(input),
    };
    const effect = effects[operation];
    if (!effect) throw new TypeError(operation);
    return this.#options.services.call({
      service: 'tasks',
      what: `${operation} ${nameOf(command.input)}`,
      refusal: () =>
        this.#options.faults.random.chance(0.5)
          ? awsFault('ThrottlingException', 'Rate exceeded')
          : awsFault('ServerException', 'try again', 500),
      effect,
    });
  }

  #run(input: RunTaskCommandInput): object {
    const { faults } = this.#options;
    const token = input.clientToken ?? '';
    const known = this.#byToken.get(token);
    if (known && !faults.hits('task.launched_twice'))
      return { tasks: [toTask(known)], failures: [] };
    if (faults.hits('tasks.no_room')) {
      return { tasks: [], failures: [{ reason: 'RESOURCE:CPU', detail: 'no room' }] };
    }
    const task = this.#create(input);
    this.#byToken.set(token, task);
    if (!known && faults.hits('task.launched_twice')) this.#create(input);
    return { tasks: [toTask(task)], failures: [] };
  }

  #create(input: RunTaskCommandInput): SimulatedTask {
    const { kernel, faults } = this.#options;
    const [container] = input.overrides?.containerOverrides ?? [];
    const number = this.#tasks.size + 1;
    const task: SimulatedTask = {
      arn: `arn:aws:ecs:eu-west-1:000000000000:task/sim/${String(number).padStart(32, '0')}`,
      startedBy: input.startedBy ?? '',
      createdAt: kernel.now,
      environment: Object.fromEntries(
        (container?.environment ?? []).map(({ name = '', value = '' }) => [name, value]),
      ),
      status: 'PROVISIONING',
      stopping: false,
      stopReason: undefined,
      end: undefined,
      host: undefined,
    };
    this.#tasks.set(task.arn, task);
    const late = faults.hits('task.starts_late') ? faults.random.between(20_000, 400_000) : 0;
    kernel.after(late + faults.random.between(300, 6_000), () => this.#start(task));
    return task;
  }

  #start(task: SimulatedTask): void {
    const { kernel, faults, startHost } = this.#options;
    if (task.status !== 'PROVISIONING') return;
    if (faults.hits('task.start_fails')) {
      this.#stopped(task, faults.random.pick(START_FAILURES));
      return;
    }
    task.status = 'RUNNING';
    kernel.note(`${shortName(task)} RUNNING for ${task.startedBy}`);
    task.host = startHost(task, (code) => this.#exited(task, code));
    if (faults.hits('task.dies')) {
      kernel.after(faults.random.between(0, 60_000), () => this.die(task));
    }
    if (faults.hits('task.zombie')) {
      kernel.after(faults.random.between(0, 60_000), () => {
        // The machine is lost to the control plane; what runs on it does not know.
        if (task.status === 'RUNNING') this.#stopped(task, endOfTask('lost'));
      });
    }
  }

  /** kill -9 of the host. */
  die(task: SimulatedTask): void {
    if (task.status !== 'RUNNING') return;
    this.#options.kernel.note(`${shortName(task)} KILLED`);
    task.host?.kill();
  }

  #exited(task: SimulatedTask, exitCode: number): void {
    const { kernel, faults } = this.#options;
    if (task.status !== 'RUNNING') return;
    task.status = 'DEPROVISIONING';
    const how = task.stopping ? 'stopped' : exitCode === KILLED ? this.#whyKilled() : 'exited';
    task.end = endOfTask(how, exitCode, task.stopReason);
    const slow = faults.hits('task.slow_stop') ? faults.random.between(30_000, 120_000) : 0;
    kernel.after(slow + faults.random.between(200, 8_000), () => this.#stopped(task, task.end));
  }

  #whyKilled(): 'memory' | 'exited' {
    return this.#options.faults.random.chance(0.3) ? 'memory' : 'exited';
  }

  #stop(input: StopTaskCommandInput): object {
    const { kernel, faults } = this.#options;
    const task = this.#tasks.get(input.task ?? '');
    if (!task) throw awsFault('InvalidParameterException', 'The referenced task was not found.');
    if (task.status === 'STOPPED' || task.stopping) return { task: toTask(task) };
    task.stopping = true;
    task.stopReason = input.reason;
    if (task.status === 'PROVISIONING') {
      kernel.after(faults.random.between(100, 3_000), () => {
        if (task.status === 'PROVISIONING')
          this.#stopped(task, endOfTask('stopped', undefined, input.reason));
      });
    } else if (task.status === 'RUNNING') {
      const slow = faults.hits('task.slow_stop') ? faults.random.between(20_000, 90_000) : 0;
      kernel.after(slow + faults.random.between(50, 2_000), () => task.host?.terminate());
      kernel.after(slow + STOP_TIMEOUT_MS, () => this.die(task));
    }
    return { task: toTask(task) };
  }

  #stopped(task: SimulatedTask, end: TaskEnd | undefined): void {
    const { kernel, faults, announce } = this.#options;
    if (task.status === 'STOPPED') return;
    task.status = 'STOPPED';
    task.end = end;
    kernel.note(`${shortName(task)} STOPPED: ${end?.stopCode} ${end?.exitCode ?? 'no exit code'}`);
    const event = { 'detail-type': 'ECS Task State Change', detail: toTask(task) };
    if (faults.hits('task.event_lost')) return;
    const late = faults.hits('task.event_late') ? faults.random.between(5_000, 200_000) : 0;
    kernel.after(late + faults.random.between(20, 2_000), () => announce(event));
    if (faults.hits('task.event_twice')) {
      kernel.after(faults.random.between(20, 100_000), () => announce(event));
    }
  }

  #describe(input: DescribeTasksCommandInput): object {
    const tasks: Task[] = [];
    const failures: object[] = [];
    for (const arn of input.tasks ?? []) {
      const task = this.#tasks.get(arn);
      if (task && !this.#isUnseen(task)) tasks.push(toTask(task));
      else failures.push({ arn, reason: 'MISSING' });
    }
    return { tasks, failures };
  }

  #list(input: ListTasksCommandInput): object {
    const { desiredStatus = 'RUNNING', startedBy } = input;
    const found = this.all.filter(
      (task) =>
        (startedBy === undefined || task.startedBy === startedBy) &&
        desiredStatus === (task.stopping || task.status === 'STOPPED' ? 'STOPPED' : 'RUNNING') &&
        !this.#isUnseen(task),
    );
    return { taskArns: found.map(({ arn }) => arn) };
  }

  /** The control plane is eventually consistent: a new task may not be there yet. */
  #isUnseen(task: SimulatedTask): boolean {
    const { kernel, faults } = this.#options;
    return kernel.now - task.createdAt < UNSEEN_MS && faults.hits('tasks.unseen');
  }
}

export function shortName(task: SimulatedTask): string {
  return `task-${Number(task.arn.slice(-32))}`;
}

function nameOf(input: object): string {
  const { startedBy, task, tasks } = input as Record<string, string & string[]>;
  const arns = task ? [task as string] : ((tasks as string[] | undefined) ?? []);
  return [startedBy, ...arns.map((arn) => `task-${Number(arn.slice(-32))}`)]
    .filter(Boolean)
    .join(' ');
}
