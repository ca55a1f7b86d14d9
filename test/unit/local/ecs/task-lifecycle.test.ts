import { DescribeTasksCommand } from '@aws-sdk/client-ecs';
import { describe, expect, it } from 'vitest';
import { pidIsAlive, startEcs, untilGone, untilOutput } from './ecs-fixture.ts';

describe('a task of the local ECS', () => {
  it('goes through its states, tells each with a higher version, and ends with its exit code', async () => {
    const { run, events } = await startEcs();
    const task = await run({ image: 'sh:exit 7' }, { startedBy: 'run-1' });
    expect(task).toMatchObject({ lastStatus: 'PROVISIONING', desiredStatus: 'RUNNING' });
    await events.until(task.taskArn, 'STOPPED');

    const seen = events.of(task.taskArn);
    expect(seen.map((detail) => [detail.version, detail.lastStatus])).toEqual([
      [1, 'PROVISIONING'],
      [2, 'PENDING'],
      [3, 'RUNNING'],
      [4, 'DEPROVISIONING'],
      [5, 'STOPPED'],
    ]);
    expect(seen.at(-1)).toMatchObject({
      taskArn: task.taskArn,
      desiredStatus: 'STOPPED',
      startedBy: 'run-1',
      stopCode: 'EssentialContainerExited',
      stoppedReason: 'Essential container in task exited',
      containers: [{ name: 'engine', lastStatus: 'STOPPED', exitCode: 7 }],
      overrides: { containerOverrides: [{ name: 'engine' }] },
      createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
      startedAt: expect.stringMatching(/Z$/),
      stoppedAt: expect.stringMatching(/Z$/),
    });
    expect(events.all.at(-1)).toMatchObject({
      version: '0',
      source: 'aws.ecs',
      'detail-type': 'ECS Task State Change',
      account: '000000000000',
      region: 'us-east-1',
      resources: [task.taskArn],
    });
  });

  it('has the environment that was asked for and nothing of ours', async () => {
    const { run, events, output } = await startEcs({
      endpointEnv: { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' },
      resolveSecret: async (valueFrom) => `value of ${valueFrom}`,
    });
    const task = await run(
      {
        image: `node:console.log(JSON.stringify([process.env, process.argv.slice(1)]))`,
        command: ['from', 'definition'],
        environment: [
          { name: 'A', value: 'definition' },
          { name: 'B', value: 'definition' },
        ],
        secrets: [{ name: 'KEY', valueFrom: 'arn:key' }],
      },
      {
        overrides: {
          containerOverrides: [
            { name: 'engine', command: ['x'], environment: [{ name: 'B', value: 'override' }] },
          ],
        },
      },
    );
    await events.until(task.taskArn, 'STOPPED');
    const [env, argv] = JSON.parse(output(task));
    // What /bin/sh itself sets is not ours either, but it tells nothing.
    for (const name of ['PWD', 'SHLVL', '_', 'OLDPWD']) delete env[name];
    expect(env).toEqual({
      PATH: '/usr/bin:/bin',
      AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
      A: 'definition',
      B: 'override',
      KEY: 'value of arn:key',
    });
    expect(argv).toEqual(['x']);
  });

  it('is stopped with SIGTERM, and its own exit code is kept', async () => {
    const { run, stop, events, output } = await startEcs();
    const task = await run({
      image: `node:process.on('SIGTERM', () => process.exit(3)); setInterval(() => {}, 1e6); console.log('ready')`,
    });
    await events.until(task.taskArn, 'RUNNING');
    await untilOutput(() => output(task), 'ready');
    expect(await stop(task, 'cancelled by its owner')).toMatchObject({
      lastStatus: 'RUNNING',
      desiredStatus: 'STOPPED',
    });
    expect(await events.until(task.taskArn, 'STOPPED')).toMatchObject({
      stopCode: 'UserInitiated',
      stoppedReason: 'cancelled by its owner',
      containers: [{ exitCode: 3 }],
    });
  });

  it('that ignores SIGTERM is killed with everything below it', async () => {
    const { run, stop, events, output } = await startEcs({ stopTimeoutMs: 50 });
    const task = await run({
      image: `node:
        process.on('SIGTERM', () => console.log('no'));
        const child = require('node:child_process').spawn(process.execPath,
          ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6)'], { detached: true, stdio: 'ignore' });
        child.once('spawn', () => console.log('below=' + child.pid + ';'));
        setInterval(() => {}, 1e6)`,
    });
    const text = await untilOutput(() => output(task), ';');
    const below = Number(/below=(\d+);/.exec(text)?.[1]);
    expect(pidIsAlive(below)).toBe(true);
    await stop(task);
    expect(await events.until(task.taskArn, 'STOPPED')).toMatchObject({
      stopCode: 'UserInitiated',
      containers: [{ exitCode: 137 }],
    });
    await untilGone(below);
  });

  it('leaves nothing of its group behind when it ends', async () => {
    const { run, events, output } = await startEcs();
    const task = await run({ image: 'sh:sleep 1000 & echo "left=$!;"; exit 0' });
    await events.until(task.taskArn, 'STOPPED');
    const left = Number(/left=(\d+);/.exec(output(task))?.[1]);
    await untilGone(left);
    expect(pidIsAlive(left)).toBe(false);
  });

  it('that is killed by a signal ends with 128 and the signal', async () => {
    const { run, ecs, events } = await startEcs();
    const task = await run({ image: 'sh:sleep 1000; true' });
    await events.until(task.taskArn, 'RUNNING');
    process.kill(Number(ecs.runningTasks()[0]?.containers[0]?.pid), 'SIGKILL');
    expect(await events.until(task.taskArn, 'STOPPED')).toMatchObject({
      stopCode: 'EssentialContainerExited',
      containers: [{ exitCode: 137 }],
    });
  });

  it('B80 whose image is unknown fails to start: no start time, no exit code, the reason in both places', async () => {
    const { run, client, events } = await startEcs();
    const task = await run({ image: 'missing:1' });
    await events.until(task.taskArn, 'STOPPED');
    const { tasks } = await client.send(
      new DescribeTasksCommand({ cluster: 'engines', tasks: [String(task.taskArn)] }),
    );
    const reason = expect.stringContaining('CannotPullContainerError');
    expect(tasks?.[0]).toMatchObject({ stopCode: 'TaskFailedToStart', stoppedReason: reason });
    expect(tasks?.[0]?.startedAt).toBeUndefined();
    expect(tasks?.[0]?.containers?.[0]).toMatchObject({ reason, lastStatus: 'STOPPED' });
    expect(tasks?.[0]?.containers?.[0]).not.toHaveProperty('exitCode');
    expect(events.of(task.taskArn).map((detail) => detail.lastStatus)).not.toContain('RUNNING');
  });

  it.each([
    ['a program that is not there', { image: 'no-program:' }, 'CannotStartContainerError'],
    [
      'a secret that cannot be had',
      { image: 'sh:true', secrets: [{ name: 'KEY', valueFrom: 'arn:key' }] },
      'ResourceInitializationError',
    ],
    [
      'B82 an environment that is too big to start',
      { image: 'sh:true', environment: [{ name: 'BIG', value: 'x'.repeat(200_000) }] },
      'CannotStartContainerError',
    ],
  ])('with %s fails to start', async (_what, container, reason) => {
    const { run, events } = await startEcs();
    const task = await run(container);
    expect(await events.until(task.taskArn, 'STOPPED')).toMatchObject({
      stopCode: 'TaskFailedToStart',
      stoppedReason: expect.stringContaining(reason),
    });
  });

  it('that is stopped before it starts never runs', async () => {
    let letGo = () => {};
    const gate = new Promise<string>((resolve) => {
      letGo = () => resolve('value');
    });
    const { run, stop, events, ecs } = await startEcs({ resolveSecret: () => gate });
    const task = await run({
      image: 'sh:true',
      secrets: [{ name: 'KEY', valueFrom: 'arn:key' }],
    });
    await events.until(task.taskArn, 'PENDING');
    await stop(task, 'too late');
    letGo();
    const stopped = await events.until(task.taskArn, 'STOPPED');
    expect(stopped).toMatchObject({ stopCode: 'UserInitiated', stoppedReason: 'too late' });
    expect(stopped).not.toHaveProperty('containers.0.exitCode');
    expect(ecs.runningTasks()).toEqual([]);
  });

  it('is stopped by a shutdown, as by a machine that goes away', async () => {
    const { run, events, ecs } = await startEcs();
    const task = await run({ image: 'sh:sleep 1000; true' });
    await events.until(task.taskArn, 'RUNNING');
    await ecs.shutdown({ graceMs: 0 });
    expect(events.of(task.taskArn).at(-1)).toMatchObject({
      lastStatus: 'STOPPED',
      stopCode: 'TerminationNotice',
    });
  });
});
