import {
  DescribeTasksCommand,
  RegisterTaskDefinitionCommand,
  RunTaskCommand,
  type RunTaskCommandInput,
} from '@aws-sdk/client-ecs';
import { describe, expect, it, vi } from 'vitest';
import { startEcs, taskIdOf, untilOutput } from './ecs-fixture.ts';

const NETWORK = { awsvpcConfiguration: { subnets: ['subnet-1'] } };

const request = (change: Partial<RunTaskCommandInput> = {}): RunTaskCommandInput => ({
  cluster: 'engines',
  taskDefinition: 'engine',
  launchType: 'FARGATE',
  networkConfiguration: NETWORK,
  ...change,
});

async function startWithDefinition(options: Parameters<typeof startEcs>[0] = {}) {
  const started = await startEcs(options);
  await started.client.send(
    new RegisterTaskDefinitionCommand({
      family: 'engine',
      requiresCompatibilities: ['FARGATE'],
      networkMode: 'awsvpc',
      cpu: '256',
      memory: '512',
      containerDefinitions: [{ name: 'engine', image: 'sh:true' }],
    }),
  );
  return started;
}

describe('a launch', () => {
  it('B70 that is not admitted is a failure in a 200 answer, and no task', async () => {
    const answers = [
      undefined,
      { reason: 'Capacity is unavailable at this time.', detail: 'full' },
    ];
    const { client, events } = await startWithDefinition({ admit: () => answers.shift() });
    const answer = await client.send(new RunTaskCommand(request({ count: 2, startedBy: 'run-1' })));
    expect(answer.failures).toEqual([
      { reason: 'Capacity is unavailable at this time.', detail: 'full' },
    ]);
    expect(answer.tasks).toHaveLength(1);
    await events.until(answer.tasks?.[0]?.taskArn, 'STOPPED');
    expect(new Set(events.all.map((event) => event.resources[0])).size).toBe(1);
  });

  it('that was refused has not used up its client token', async () => {
    let full = true;
    const { client } = await startWithDefinition({
      admit: () => (full ? { reason: 'Capacity is unavailable at this time.' } : undefined),
    });
    const run = () => client.send(new RunTaskCommand(request({ clientToken: 'run-1/1' })));
    expect((await run()).tasks).toEqual([]);
    full = false;
    expect((await run()).tasks).toHaveLength(1);
  });

  it('B76 that is repeated gives the task as it is now, be it stopped', async () => {
    const { client, events } = await startWithDefinition();
    const run = async () =>
      (await client.send(new RunTaskCommand(request({ clientToken: 'run-1/1' })))).tasks?.[0];
    const first = await run();
    await events.until(first?.taskArn, 'STOPPED');
    expect(await run()).toMatchObject({ taskArn: first?.taskArn, lastStatus: 'STOPPED' });
  });

  it('B52 that is repeated while it goes on is one task', async () => {
    const { client, events } = await startWithDefinition();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        client.send(new RunTaskCommand(request({ clientToken: 'run-1/1' }))),
      ),
    );
    const arns = answers.map((answer) => answer.tasks?.[0]?.taskArn);
    expect(new Set(arns).size).toBe(1);
    await events.until(arns[0], 'STOPPED');
    expect(events.of(arns[0]).filter((detail) => detail.lastStatus === 'RUNNING')).toHaveLength(1);
  });
});

describe('a task of several containers', () => {
  const twoContainers = (main: string, helper: string) =>
    new RegisterTaskDefinitionCommand({
      family: 'pair',
      requiresCompatibilities: ['FARGATE'],
      networkMode: 'awsvpc',
      cpu: '256',
      memory: '512',
      containerDefinitions: [
        { name: 'main', image: `sh:${main}` },
        { name: 'helper', image: `sh:${helper}`, essential: false },
      ],
    });

  it('ends with its essential container, and the others are stopped', async () => {
    const { client, events } = await startEcs();
    await client.send(twoContainers('exit 5', 'trap "exit 6" TERM; while :; do sleep 0.02; done'));
    const { tasks } = await client.send(new RunTaskCommand(request({ taskDefinition: 'pair' })));
    const stopped = await events.until(tasks?.[0]?.taskArn, 'STOPPED');
    expect(stopped).toMatchObject({
      stopCode: 'EssentialContainerExited',
      containers: [
        { name: 'main', exitCode: 5 },
        { name: 'helper', lastStatus: 'STOPPED', exitCode: expect.any(Number) },
      ],
    });
  });

  it('goes on without a container that is not essential', async () => {
    const { client, events, ecs, output } = await startEcs();
    await client.send(twoContainers('echo up; sleep 1000; true', 'exit 3'));
    const { tasks } = await client.send(new RunTaskCommand(request({ taskDefinition: 'pair' })));
    const task = tasks?.[0];
    if (!task) throw new Error('no task');
    await events.until(task.taskArn, 'RUNNING');
    await untilOutput(() => output(task, 'main'), 'up');
    await vi.waitFor(async () => {
      const describe = new DescribeTasksCommand({ cluster: 'engines', tasks: [taskIdOf(task)] });
      expect((await client.send(describe)).tasks?.[0]).toMatchObject({
        lastStatus: 'RUNNING',
        desiredStatus: 'RUNNING',
        containers: [
          { name: 'main', lastStatus: 'RUNNING' },
          { name: 'helper', lastStatus: 'STOPPED', exitCode: 3 },
        ],
      });
    }, 5_000);
    expect(ecs.runningTasks()).toMatchObject([
      { taskArn: task.taskArn, containers: [{ name: 'main' }, { name: 'helper' }] },
    ]);
  });
});
