import {
  DescribeTasksCommand,
  ECSClient,
  InvalidParameterException,
  ListTasksCommand,
  StopTaskCommand,
} from '@aws-sdk/client-ecs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { EcsTaskControl } from '#shared/orchestrator/ecs-task-control.ts';

const ecs = mockClient(ECSClient);
beforeEach(() => ecs.reset());

const control = new EcsTaskControl(new ECSClient({ region: 'us-east-1' }), 'arn:cluster');
const REF = { tenantId: 'acme', runId: 'run_01J00000000000000000000000' };
const stoppedContainer = { lastStatus: 'STOPPED', exitCode: 0 };

it('takes a task that the control plane has forgotten as stopped', async () => {
  ecs
    .on(StopTaskCommand)
    .rejects(new InvalidParameterException({ message: 'not found', $metadata: {} }));
  await expect(control.stop('arn:1', 'why')).resolves.toBeUndefined();
});

it('does not hide that a task could not be stopped', async () => {
  ecs.on(StopTaskCommand).rejects(new Error('down'));
  await expect(control.stop('arn:1', 'why')).rejects.toThrow('down');
});

describe('look', () => {
  it.each([
    ['RUNNING', { lastStatus: 'RUNNING' }, 'running'],
    ['not started yet', { lastStatus: 'PROVISIONING' }, 'running'],
    ['B79 to be stopped', { lastStatus: 'RUNNING', desiredStatus: 'STOPPED' }, 'running'],
    ['B79 being stopped', { lastStatus: 'STOPPING', desiredStatus: 'STOPPED' }, 'running'],
    [
      'being taken down while a container runs',
      { lastStatus: 'DEPROVISIONING', containers: [{ lastStatus: 'RUNNING' }] },
      'running',
    ],
    [
      'being taken down after all has ended',
      { lastStatus: 'DEPROVISIONING', containers: [stoppedContainer] },
      'stopped',
    ],
    ['STOPPED', { lastStatus: 'STOPPED', containers: [stoppedContainer] }, 'stopped'],
  ] as const)('sees a task that is %s', async (_what, task, state) => {
    ecs.on(DescribeTasksCommand).resolves({
      tasks: [{ taskArn: 'arn:1', ...task } as object],
    });
    expect(await control.look(['arn:1'])).toMatchObject([{ taskArn: 'arn:1', state }]);
  });

  it.each([
    ['MISSING', 'missing'],
    ['something new', 'unknown'],
  ])('reads the failure %s as %s', async (reason, state) => {
    ecs.on(DescribeTasksCommand).resolves({ tasks: [], failures: [{ arn: 'arn:1', reason }] });
    expect(await control.look(['arn:1'])).toEqual([{ taskArn: 'arn:1', state }]);
  });

  it('tells the attempt, the age and why it stopped', async () => {
    ecs.on(DescribeTasksCommand).resolves({
      tasks: [
        {
          taskArn: 'arn:1',
          lastStatus: 'STOPPED',
          startedBy: `${REF.runId}/7/acme`,
          createdAt: new Date(5_000),
          stopCode: 'SpotInterruption',
          containers: [{ exitCode: 143 }],
        },
      ],
    });
    expect(await control.look(['arn:1'])).toEqual([
      {
        taskArn: 'arn:1',
        state: 'stopped',
        attempt: { ...REF, epoch: 7 },
        createdAtMs: 5_000,
        stop: {
          cause: 'spot_interruption',
          began: true,
          again: true,
          reason: 'SpotInterruption; exit code 143',
        },
      },
    ]);
  });

  it('asks for a hundred tasks at a time, and answers in the order asked', async () => {
    ecs.on(DescribeTasksCommand).callsFake(({ tasks }: { tasks: string[] }) => ({
      tasks: tasks.toReversed().map((taskArn) => ({ taskArn, lastStatus: 'RUNNING' })),
    }));
    const arns = Array.from({ length: 250 }, (_, index) => `arn:${index}`);
    expect((await control.look(arns)).map(({ taskArn }) => taskArn)).toEqual(arns);
    const sizes = ecs
      .commandCalls(DescribeTasksCommand)
      .map(({ args }) => args[0].input.tasks?.length);
    expect(sizes).toEqual([100, 100, 50]);
  });

  it('asks nothing for no tasks', async () => {
    expect(await control.look([])).toEqual([]);
    expect(ecs.calls()).toEqual([]);
  });
});

describe('find', () => {
  const listing = (desiredStatus: string, taskArns: string[]) =>
    ecs
      .on(ListTasksCommand, {
        cluster: 'arn:cluster',
        startedBy: `${REF.runId}/3/acme`,
        desiredStatus: desiredStatus as 'RUNNING',
      })
      .resolves({ taskArns });

  it('B83 finds a living task of the attempt', async () => {
    listing('RUNNING', ['arn:1']);
    ecs.on(DescribeTasksCommand).resolves({ tasks: [{ taskArn: 'arn:1', lastStatus: 'PENDING' }] });
    expect(await control.find(REF, 3)).toEqual({ taskArn: 'arn:1', state: 'running' });
  });

  it('B83 finds one that has stopped', async () => {
    listing('RUNNING', []);
    listing('STOPPED', ['arn:1']);
    ecs.on(DescribeTasksCommand).resolves({
      tasks: [{ taskArn: 'arn:1', lastStatus: 'STOPPED', stopCode: 'UserInitiated' }],
    });
    expect(await control.find(REF, 3)).toMatchObject({
      state: 'stopped',
      stop: { cause: 'stopped_on_request' },
    });
  });

  it('finds nothing where there is nothing', async () => {
    listing('RUNNING', []);
    listing('STOPPED', []);
    expect(await control.find(REF, 3)).toBeUndefined();
  });
});

describe('listLive', () => {
  it('goes through the tasks that nobody told to stop, a page at a time', async () => {
    ecs
      .on(ListTasksCommand, { cluster: 'arn:cluster', desiredStatus: 'RUNNING', maxResults: 100 })
      .resolves({ taskArns: ['arn:1'], nextToken: 'more' })
      .on(ListTasksCommand, {
        cluster: 'arn:cluster',
        desiredStatus: 'RUNNING',
        maxResults: 100,
        nextToken: 'more',
      })
      .resolves({ taskArns: [] });
    ecs.on(DescribeTasksCommand).resolves({ tasks: [{ taskArn: 'arn:1', lastStatus: 'RUNNING' }] });
    const first = await control.listLive();
    expect(first).toEqual({ tasks: [{ taskArn: 'arn:1', state: 'running' }], cursor: 'more' });
    expect(await control.listLive(first.cursor)).toEqual({ tasks: [] });
  });
});
