import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import {
  CreateClusterCommand,
  DescribeTasksCommand,
  type ECSClient,
  StopTaskCommand,
  type Task,
} from '@aws-sdk/client-ecs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TaskStateChange } from '#local/aws/ecs/index.ts';
import {
  ecsClient,
  outputOf,
  pidIsAlive,
  runTask,
  temporaryFolder,
  untilGone,
  untilOutput,
} from './ecs-fixture.ts';

/** Ends with 7 on SIGUSR2 and with 4 on SIGTERM; says its pid when it listens. */
const ENGINE = `node:
  process.on('SIGUSR2', () => process.exit(7));
  process.on('SIGTERM', () => process.exit(4));
  setInterval(() => {}, 1e6);
  console.log('pid=' + process.pid + ';');`;

interface Stack {
  readonly client: ECSClient;
  /** As a crash: no handler of it runs. */
  kill(): Promise<void>;
}

async function startStack(dir: string, mode = 'accept'): Promise<Stack> {
  const program = fileURLToPath(new URL('./stack-process.ts', import.meta.url));
  const child: ChildProcess = spawn(process.execPath, [program, dir, mode], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (!child.stdout) throw new Error('no output');
  const [url] = await once(createInterface({ input: child.stdout }), 'line');
  const client = ecsClient(String(url));
  const kill = async () => {
    client.destroy();
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  return { client, kill };
}

async function startTask(dir: string, stack: Stack, startedBy = 'run-1'): Promise<[Task, number]> {
  await stack.client.send(new CreateClusterCommand({ clusterName: 'engines' }));
  const task = await runTask(stack.client, { image: ENGINE }, { startedBy });
  const read = () => (existsSync(join(dir, 'logs')) ? outputOf(dir, task) : '');
  const text = await untilOutput(() => readIfThere(read), ';');
  const pid = Number(/pid=(\d+);/.exec(text)?.[1]);
  onTestFinished(() => {
    if (pidIsAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  return [task, pid];
}

function readIfThere(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

const eventsIn = (dir: string): TaskStateChange[] =>
  readIfThere(() => readFileSync(join(dir, 'events.jsonl'), 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const untilStopped = (dir: string): Promise<TaskStateChange[]> =>
  vi.waitFor(
    () => {
      const events = eventsIn(dir);
      if (!events.some((event) => event.detail.lastStatus === 'STOPPED')) {
        throw new Error(`not stopped: ${events.map((event) => event.detail.lastStatus)}`);
      }
      return events;
    },
    { timeout: 10_000, interval: 20 },
  );

const describeTask = async (stack: Stack, task: Task): Promise<Task | undefined> => {
  const command = new DescribeTasksCommand({ cluster: 'engines', tasks: [String(task.taskArn)] });
  return (await stack.client.send(command)).tasks?.[0];
};

describe('after the stack was killed (kill -9)', () => {
  it('HST-5 a living task is adopted, and its end is told once with its exit code', async () => {
    const dir = temporaryFolder();
    const first = await startStack(dir);
    const [task, pid] = await startTask(dir, first);
    await first.kill();
    expect(pidIsAlive(pid)).toBe(true);

    const second = await startStack(dir);
    expect(await describeTask(second, task)).toMatchObject({ lastStatus: 'RUNNING' });
    process.kill(pid, 'SIGUSR2');
    const events = await untilStopped(dir);

    expect(events.at(-1)?.detail).toMatchObject({
      taskArn: task.taskArn,
      lastStatus: 'STOPPED',
      desiredStatus: 'STOPPED',
      startedBy: 'run-1',
      stopCode: 'EssentialContainerExited',
      containers: [{ name: 'engine', exitCode: 7 }],
    });
    const versions = events.map((event) => Number(event.detail.version));
    expect([...new Set(versions)].sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5]);
    expect(versions.at(-1)).toBe(5);
  });

  it('HST-5 a task that ended meanwhile is STOPPED with its exit code', async () => {
    const dir = temporaryFolder();
    const first = await startStack(dir);
    const [task, pid] = await startTask(dir, first);
    await first.kill();
    process.kill(pid, 'SIGUSR2');
    await untilGone(pid);

    const second = await startStack(dir);
    const events = await untilStopped(dir);
    expect(events.at(-1)?.detail).toMatchObject({ containers: [{ exitCode: 7 }] });
    expect(await describeTask(second, task)).toMatchObject({ lastStatus: 'STOPPED' });
  });

  it('a task whose end nobody saw is STOPPED without an exit code', async () => {
    const dir = temporaryFolder();
    const first = await startStack(dir);
    const [, pid] = await startTask(dir, first);
    const keeper = parentOf(pid);
    await first.kill();
    process.kill(keeper, 'SIGKILL');
    process.kill(pid, 'SIGKILL');
    await untilGone(pid);

    await startStack(dir);
    const stopped = (await untilStopped(dir)).at(-1)?.detail;
    expect(stopped).toMatchObject({ stopCode: 'EssentialContainerExited' });
    expect(stopped).not.toHaveProperty('containers.0.exitCode');
  });

  it('an adopted task can be stopped', async () => {
    const dir = temporaryFolder();
    const first = await startStack(dir);
    const [task] = await startTask(dir, first);
    await first.kill();

    const second = await startStack(dir);
    await second.client.send(new StopTaskCommand({ cluster: 'engines', task: task.taskArn }));
    expect((await untilStopped(dir)).at(-1)?.detail).toMatchObject({
      stopCode: 'UserInitiated',
      containers: [{ exitCode: 4 }],
    });
  });

  it('whenever it was killed, each task runs once or fails to start, and ends', async () => {
    const dir = temporaryFolder();
    const arns: (string | undefined)[] = [];
    for (let round = 0; round < 4; round += 1) {
      const stack = await startStack(dir);
      await stack.client.send(new CreateClusterCommand({ clusterName: 'engines' }));
      // Each answer comes while the launches of those before it are in different places.
      for (let n = 0; n <= round * 3; n += 1) {
        arns.push((await runTask(stack.client, { image: 'sh:echo ran; exit 3' })).taskArn);
      }
      await stack.kill();
    }
    const last = await startStack(dir);
    const tasks = await vi.waitFor(async () => {
      const command = new DescribeTasksCommand({ cluster: 'engines', tasks: arns.map(String) });
      const described = (await last.client.send(command)).tasks ?? [];
      expect(described.filter((task) => task.lastStatus !== 'STOPPED')).toEqual([]);
      return described;
    }, 15_000);
    expect(tasks).toHaveLength(arns.length);
    for (const task of tasks) {
      const ran = readIfThere(() => outputOf(dir, task))
        .split('\n')
        .filter(Boolean).length;
      const container = task.containers?.[0];
      if (task.stopCode === 'TaskFailedToStart')
        expect([ran, container?.exitCode]).toEqual([0, undefined]);
      else expect([ran, container?.exitCode]).toEqual([1, 3]);
    }
  });

  it('events that nobody took are offered again, in order', async () => {
    const dir = temporaryFolder();
    const first = await startStack(dir, 'refuse');
    const [task, pid] = await startTask(dir, first);
    process.kill(pid, 'SIGUSR2');
    await vi.waitFor(async () => {
      const now = await describeTask(first, task);
      if (now?.lastStatus !== 'STOPPED') throw new Error(String(now?.lastStatus));
    }, 10_000);
    expect(eventsIn(dir)).toEqual([]);
    await first.kill();

    await startStack(dir);
    const events = await untilStopped(dir);
    expect(events.map((event) => event.detail.version)).toEqual([1, 2, 3, 4, 5]);
  });
});

function parentOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}
