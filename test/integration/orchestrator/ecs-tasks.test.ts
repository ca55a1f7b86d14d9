import { DescribeTasksCommand, RegisterTaskDefinitionCommand } from '@aws-sdk/client-ecs';
import { describe, expect, it, vi } from 'vitest';
import { EcsTaskControl } from '#shared/orchestrator/ecs-task-control.ts';
import { EcsTaskLauncher } from '#shared/orchestrator/ecs-task-launcher.ts';
import { TASK_CONTAINER_NAME, TASK_ENVIRONMENT } from '#shared/topology/index.ts';
import { queuedHead } from '#test/support/run-builders.ts';
import { startEcs, untilOutput } from '#test/unit/local/ecs/ecs-fixture.ts';

/** Our launcher and its look at tasks, with the real SDK, on an ECS whose tasks are real processes. */
async function open(options: {
  image: string;
  ecs?: Parameters<typeof startEcs>[0];
  secrets?: { name: string; valueFrom: string }[];
}) {
  const started = await startEcs(options.ecs);
  const { taskDefinition } = await started.client.send(
    new RegisterTaskDefinitionCommand({
      family: 'host',
      requiresCompatibilities: ['FARGATE'],
      networkMode: 'awsvpc',
      cpu: '256',
      memory: '512',
      containerDefinitions: [
        {
          name: TASK_CONTAINER_NAME,
          image: options.image,
          ...(options.secrets ? { secrets: options.secrets } : {}),
        },
      ],
    }),
  );
  const launcher = new EcsTaskLauncher(started.client, {
    clusterArn: 'engines',
    taskDefinitionArn: String(taskDefinition?.taskDefinitionArn),
    containerName: TASK_CONTAINER_NAME,
    subnets: ['subnet-1'],
    securityGroups: [],
    gatewayUrl: 'https://gateway.invalid',
  });
  const launch = async (ref: { tenantId: string; runId: string }, epoch = 1) => {
    const outcome = await launcher.launch({ ref, epoch, ticket: `ticket-${epoch}` });
    if (outcome.outcome !== 'launched') throw new Error(JSON.stringify(outcome));
    return outcome.taskArn;
  };
  return { ...started, launcher, launch, control: new EcsTaskControl(started.client, 'engines') };
}

const SLEEPS = 'sh:echo up; sleep 1000; true';

describe('a launched task', () => {
  it('B82 has the secrets of its definition, and its own variables beside them', async () => {
    const { launch, events, output } = await open({
      image: 'sh:env',
      secrets: [{ name: 'KEY', valueFrom: 'arn:key' }],
      ecs: { resolveSecret: async () => 'of the definition' },
    });
    const { tenantId, runId } = queuedHead();
    const taskArn = await launch({ tenantId, runId });
    await events.until(taskArn, 'STOPPED');
    const lines = output({ taskArn }, TASK_CONTAINER_NAME).split('\n');
    expect(lines).toContain('KEY=of the definition');
    expect(lines).toContain(`${TASK_ENVIRONMENT.runId}=${runId}`);
    expect(lines).toContain(`${TASK_ENVIRONMENT.ticket}=ticket-1`);
  });

  it('B83 is found by the name of its attempt, and by no other', async () => {
    const { launch, control, events } = await open({ image: SLEEPS });
    const head = queuedHead();
    const first = await launch(head, 1);
    const second = await launch(head, 2);
    await launch(queuedHead(), 1);
    expect(await control.find(head, 1)).toMatchObject({
      taskArn: first,
      state: 'running',
      attempt: { tenantId: head.tenantId, runId: head.runId, epoch: 1 },
      createdAtMs: expect.any(Number),
    });
    expect(await control.find(head, 3)).toBeUndefined();
    await control.stop(second, 'enough');
    await events.until(second, 'STOPPED');
    expect(await control.find(head, 2)).toMatchObject({
      taskArn: second,
      state: 'stopped',
      stop: { cause: 'stopped_on_request', reason: expect.stringContaining('enough') },
    });
  });

  it('B76 that is asked for again after its end is no launch', async () => {
    const { launch, launcher, events } = await open({ image: 'sh:exit 3' });
    const head = queuedHead();
    const taskArn = await launch(head);
    await events.until(taskArn, 'STOPPED');
    expect(await launcher.launch({ ref: head, epoch: 1, ticket: 'ticket-1' })).toMatchObject({
      outcome: 'stopped',
      taskArn,
      stop: { cause: 'exited', began: true, reason: expect.stringContaining('exit code 3') },
    });
    expect(await launch(head, 2)).not.toBe(taskArn);
  });

  it('B79 that was told to stop counts as running until its process is gone', async () => {
    const { launch, control, client, output, events } = await open({
      image:
        "node:process.on('SIGTERM', () => console.log('told')); setInterval(() => {}, 1e6); console.log('up')",
      ecs: { stopTimeoutMs: 60_000 },
    });
    const taskArn = await launch(queuedHead());
    const read = () => output({ taskArn }, TASK_CONTAINER_NAME);
    await events.until(taskArn, 'RUNNING');
    await untilOutput(read, 'up');
    await control.stop(taskArn, 'enough');
    await untilOutput(read, 'told');
    const describe = new DescribeTasksCommand({ cluster: 'engines', tasks: [taskArn] });
    expect((await client.send(describe)).tasks).toMatchObject([{ desiredStatus: 'STOPPED' }]);
    expect(await control.look([taskArn])).toMatchObject([{ state: 'running' }]);
  });

  it('B80 whose image is not there says so, and that no repeat helps', async () => {
    const { launch, control, events } = await open({ image: 'missing:1' });
    const taskArn = await launch(queuedHead());
    await events.until(taskArn, 'STOPPED');
    expect(await control.look([taskArn])).toMatchObject([
      { state: 'stopped', stop: { cause: 'image_missing', began: false, again: false } },
    ]);
  });
});

describe('a launch', () => {
  it('B70 that is refused in a 200 is no launch, and can be asked for again', async () => {
    let full = true;
    const { launcher, launch, control } = await open({
      image: SLEEPS,
      ecs: {
        admit: () => (full ? { reason: 'Capacity is unavailable at this time.' } : undefined),
      },
    });
    const head = queuedHead();
    expect(await launcher.launch({ ref: head, epoch: 1, ticket: 'ticket-1' })).toMatchObject({
      outcome: 'refused',
      permanent: false,
      error: { message: expect.stringContaining('Capacity is unavailable') },
    });
    expect(await control.find(head, 1)).toBeUndefined();
    full = false;
    await launch(head, 2);
  });

  it('B74 with a definition that does not exist is rejected', async () => {
    const { client } = await open({ image: SLEEPS });
    const launcher = new EcsTaskLauncher(client, {
      clusterArn: 'engines',
      taskDefinitionArn: 'nothing:1',
      containerName: TASK_CONTAINER_NAME,
      subnets: ['subnet-1'],
      securityGroups: [],
      gatewayUrl: 'https://gateway.invalid',
    });
    expect(
      await launcher.launch({ ref: queuedHead(), epoch: 1, ticket: 'ticket-1' }),
    ).toMatchObject({ outcome: 'refused', permanent: true });
  });
});

describe('the list of living tasks', () => {
  it('HST-5 names their attempts, and leaves out those that were told to stop', async () => {
    const { launch, control } = await open({ image: SLEEPS });
    const heads = [queuedHead(), queuedHead(), queuedHead()];
    const arns: string[] = [];
    for (const head of heads) arns.push(await launch(head));
    await control.stop(String(arns[1]), 'enough');
    const runsOf = async () =>
      (await control.listLive()).tasks.map(({ attempt }) => attempt?.runId).toSorted();
    const left = [heads[0]?.runId, heads[2]?.runId].toSorted();
    await vi.waitFor(async () => expect(await runsOf()).toEqual(left));
  });

  it('throws for a place that it never gave', async () => {
    const { control } = await open({ image: SLEEPS });
    await expect(control.listLive('made-up')).rejects.toMatchObject({
      name: 'InvalidParameterException',
    });
  });
});
