import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateClusterCommand,
  ECSClient,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  type RunTaskCommandInput,
  StopTaskCommand,
  type Task,
} from '@aws-sdk/client-ecs';
import { onTestFinished, vi } from 'vitest';
import { type Ecs, type EcsOptions, openEcs, type TaskStateChange } from '#local/aws/ecs/index.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';

/** Commands for the image names used in the tests: `node:<script>` runs the script, `missing` does not exist. */
export const testImages: EcsOptions['images'] = (image) => {
  const [kind, script = ''] = image.split(/:(.*)/s);
  if (kind === 'node') return { command: [process.execPath, '-e', script, '--'], cwd: tmpdir() };
  if (kind === 'sh') return { command: ['/bin/sh', '-c', script, 'sh'], cwd: tmpdir() };
  if (kind === 'no-program') return { command: ['/nowhere/program'], cwd: tmpdir() };
  return undefined;
};

export const ecsClient = (endpoint: string) =>
  new ECSClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });

export const taskIdOf = (task: Task | string | undefined): string =>
  String(typeof task === 'object' ? task.taskArn : task)
    .split('/')
    .at(-1) ?? '';

/** Collects events; `until` resolves with the first one that fits, past ones included. */
export class SeenEvents {
  readonly all: TaskStateChange[] = [];

  readonly emit = (event: object): void => {
    this.all.push(event as TaskStateChange);
  };

  of(taskArn: string | undefined): TaskStateChange['detail'][] {
    return this.all.filter((event) => event.resources[0] === taskArn).map((event) => event.detail);
  }

  async until(taskArn: string | undefined, lastStatus: string): Promise<TaskStateChange['detail']> {
    return await vi.waitFor(
      () => {
        const found = this.of(taskArn).find((detail) => detail.lastStatus === lastStatus);
        if (!found) throw new Error(`no ${lastStatus} of ${taskArn}: ${JSON.stringify(this.all)}`);
        return found;
      },
      { timeout: 10_000, interval: 10 },
    );
  }
}

export interface TestEcs {
  readonly ecs: Ecs;
  readonly client: ECSClient;
  readonly events: SeenEvents;
  readonly dir: string;
  /** Registers a definition with this container, and runs it. */
  run(container: TestContainer, request?: Partial<RunTaskCommandInput>): Promise<Task>;
  stop(task: Task, reason?: string): Promise<Task | undefined>;
  /** What a container wrote so far. */
  output(task: Task, container?: string): string;
}

export interface TestContainer {
  readonly image: string;
  readonly command?: string[];
  readonly environment?: { name: string; value: string }[];
  readonly secrets?: { name: string; valueFrom: string }[];
}

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'ecs-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

/** An ECS of its own for one test, stopped with all its tasks when the test ends. */
export async function startEcs(options: Partial<EcsOptions> = {}): Promise<TestEcs> {
  const dir = temporaryFolder();
  const events = new SeenEvents();
  const ecs = openEcs({
    state: openStateDatabase(join(dir, 'state.sqlite')),
    region: 'us-east-1',
    accountId: '000000000000',
    images: testImages,
    baseEnv: { PATH: '/usr/bin:/bin' },
    logDir: join(dir, 'logs'),
    emit: events.emit,
    stopTimeoutMs: 5_000,
    ...options,
  });
  const endpoint = await startAwsEndpoint({ services: [ecs] });
  const client = ecsClient(endpoint.url);
  onTestFinished(async () => {
    await ecs.shutdown({ graceMs: 0 });
    client.destroy();
    await endpoint.close();
  });
  await client.send(new CreateClusterCommand({ clusterName: 'engines' }));
  return {
    ecs,
    client,
    events,
    dir,
    run: (container, request) => runTask(client, container, request),
    async stop(task, reason) {
      const command = new StopTaskCommand({ cluster: 'engines', task: task.taskArn, reason });
      return (await client.send(command)).task;
    },
    output: (task, container = 'engine') => outputOf(dir, task, container),
  };
}

export async function runTask(
  client: ECSClient,
  container: TestContainer,
  request: Partial<RunTaskCommandInput> = {},
): Promise<Task> {
  const { taskDefinition } = await client.send(
    new RegisterTaskDefinitionCommand({
      family: 'engine',
      requiresCompatibilities: ['FARGATE'],
      networkMode: 'awsvpc',
      cpu: '256',
      memory: '512',
      containerDefinitions: [{ name: 'engine', ...container }],
    }),
  );
  const { tasks, failures } = await client.send(
    new RunTaskCommand({
      cluster: 'engines',
      taskDefinition: taskDefinition?.taskDefinitionArn,
      launchType: 'FARGATE',
      networkConfiguration: { awsvpcConfiguration: { subnets: ['subnet-1'] } },
      ...request,
    }),
  );
  const task = tasks?.[0];
  if (!task) throw new Error(`no task: ${JSON.stringify(failures)}`);
  return task;
}

export function outputOf(dir: string, task: Task, container = 'engine', stream = 'stdout'): string {
  return readFileSync(join(dir, 'logs', taskIdOf(task), `${container}.${stream}.log`), 'utf8');
}

/** Waits until the program has written the text, which is how the test programs say that they are ready. */
export async function untilOutput(read: () => string, text: string): Promise<string> {
  return await vi.waitFor(
    () => {
      const output = read();
      if (!output.includes(text)) throw new Error(`output so far: ${output}`);
      return output;
    },
    { timeout: 10_000, interval: 10 },
  );
}

export async function untilGone(pid: number): Promise<void> {
  await vi.waitFor(() => {
    if (pidIsAlive(pid)) throw new Error(`${pid} is alive`);
  }, 10_000);
}

/** A zombie counts as gone: in a container nobody may be there to reap it. */
export function pidIsAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !stat.slice(stat.lastIndexOf(')')).startsWith(') Z');
  } catch {
    return false;
  }
}
