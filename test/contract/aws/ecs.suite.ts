import {
  CreateClusterCommand,
  DescribeClustersCommand,
  DescribeTaskDefinitionCommand,
  DescribeTasksCommand,
  type ECSClient,
  ListTasksCommand,
  RegisterTaskDefinitionCommand,
  type RegisterTaskDefinitionCommandInput,
  RunTaskCommand,
  type RunTaskCommandInput,
  StopTaskCommand,
  TagResourceCommand,
} from '@aws-sdk/client-ecs';
import { expect } from 'vitest';
import { type ContractOptions, describeContract } from './divergences.ts';

let families = 0;

export interface EcsUnderTest {
  readonly client: () => ECSClient;
  /** Of a subnet that exists. */
  readonly subnet: () => Promise<string>;
}

/** What the platform relies on of ECS. The image `engine:1` must exist, and run for as long as the suite. */
export function describeEcs(options: ContractOptions & EcsUnderTest): void {
  const { client } = options;

  const register = async (change: Partial<RegisterTaskDefinitionCommandInput> = {}) => {
    families += 1;
    const { taskDefinition } = await client().send(
      new RegisterTaskDefinitionCommand({
        family: `engine-${families}`,
        requiresCompatibilities: ['FARGATE'],
        networkMode: 'awsvpc',
        cpu: '256',
        memory: '512',
        containerDefinitions: [{ name: 'engine', image: 'engine:1', memory: 512 }],
        ...change,
      }),
    );
    return String(taskDefinition?.taskDefinitionArn);
  };

  const run = async (change: Partial<RunTaskCommandInput> = {}) => {
    await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
    return await client().send(
      new RunTaskCommand({
        cluster: 'engines',
        taskDefinition: change.taskDefinition ?? (await register()),
        launchType: 'FARGATE',
        networkConfiguration: {
          awsvpcConfiguration: { subnets: [await options.subnet()], securityGroups: [] },
        },
        ...change,
      }),
    );
  };

  const runOne = async (change: Partial<RunTaskCommandInput> = {}) => {
    const { tasks } = await run(change);
    return String(tasks?.[0]?.taskArn);
  };

  const describe = (tasks: string[], include?: 'TAGS'[]) =>
    client().send(new DescribeTasksCommand({ cluster: 'engines', tasks, include }));

  describeContract(options, (it) => {
    it('creates a cluster once, whatever how often it is asked', async () => {
      const create = new CreateClusterCommand({ clusterName: 'engines' });
      const first = (await client().send(create)).cluster;
      const second = (await client().send(create)).cluster;
      expect(first).toMatchObject({
        clusterName: 'engines',
        status: 'ACTIVE',
        clusterArn: expect.stringMatching(/^arn:aws:ecs:us-east-1:\d{12}:cluster\/engines$/),
      });
      expect(second?.clusterArn).toBe(first?.clusterArn);
    });

    it('describes clusters, and names those that are missing', async () => {
      await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
      const answer = await client().send(
        new DescribeClustersCommand({ clusters: ['engines', 'nowhere'] }),
      );
      expect(answer.clusters?.map((cluster) => cluster.clusterName)).toEqual(['engines']);
      expect(answer.failures).toMatchObject([
        { arn: expect.stringMatching(/:cluster\/nowhere$/), reason: 'MISSING' },
      ]);
    });

    it('numbers the revisions of a family, and finds the newest or the one named', async () => {
      const first = await register({ family: 'numbered' });
      const second = await register({ family: 'numbered' });
      expect([first, second].map((arn) => arn.split('/').at(-1))).toEqual([
        'numbered:1',
        'numbered:2',
      ]);
      const find = async (taskDefinition: string) =>
        (await client().send(new DescribeTaskDefinitionCommand({ taskDefinition }))).taskDefinition;
      expect((await find('numbered'))?.revision).toBe(2);
      expect(await find('numbered:1')).toMatchObject({
        taskDefinitionArn: first,
        family: 'numbered',
        status: 'ACTIVE',
        networkMode: 'awsvpc',
        containerDefinitions: [{ name: 'engine', image: 'engine:1', essential: true, cpu: 0 }],
      });
    });

    it('refuses an unknown task definition', async () => {
      await expect(
        client().send(new DescribeTaskDefinitionCommand({ taskDefinition: 'unknown' })),
      ).rejects.toMatchObject({ name: 'ClientException' });
      await expect(run({ taskDefinition: 'unknown' })).rejects.toMatchObject({
        name: 'ClientException',
      });
    });

    it('refuses a task size that Fargate does not have', async () => {
      await expect(register({ cpu: '256', memory: '8192' })).rejects.toMatchObject({
        name: 'ClientException',
      });
    });

    it('refuses a definition without containers', async () => {
      await expect(register({ containerDefinitions: [] })).rejects.toMatchObject({
        name: 'ClientException',
      });
    });

    it('runs a definition that leaves the memory to the task', async () => {
      const taskDefinition = await register({
        containerDefinitions: [{ name: 'engine', image: 'engine:1' }],
      });
      expect((await run({ taskDefinition })).tasks).toHaveLength(1);
    });

    it('answers with the accepted task', async () => {
      const taskDefinition = await register();
      const { tasks, failures } = await run({
        taskDefinition,
        startedBy: 'run-1',
        overrides: {
          containerOverrides: [{ name: 'engine', environment: [{ name: 'RUN', value: '1' }] }],
        },
      });
      expect(failures).toEqual([]);
      expect(tasks).toMatchObject([
        {
          taskArn: expect.stringMatching(/:task\/engines\/[0-9a-f-]{32,36}$/),
          clusterArn: expect.stringMatching(/:cluster\/engines$/),
          taskDefinitionArn: taskDefinition,
          desiredStatus: 'RUNNING',
          startedBy: 'run-1',
          overrides: {
            containerOverrides: [{ name: 'engine', environment: [{ name: 'RUN', value: '1' }] }],
          },
        },
      ]);
    });

    it('accepts a task before it starts it', async () => {
      const { tasks } = await run();
      expect(tasks?.[0]?.lastStatus).toBe('PROVISIONING');
      expect(tasks?.[0]?.containers?.map((container) => container.name)).toEqual(['engine']);
      expect(tasks?.[0]?.createdAt).toBeInstanceOf(Date);
    });

    it('runs up to ten tasks at once', async () => {
      expect((await run({ count: 2 })).tasks).toHaveLength(2);
      await expect(run({ count: 11 })).rejects.toMatchObject({ name: 'InvalidParameterException' });
    });

    it('refuses a cluster that does not exist', async () => {
      await expect(run({ cluster: 'nowhere' })).rejects.toMatchObject({
        name: 'ClusterNotFoundException',
      });
    });

    it('needs a network for the network mode awsvpc', async () => {
      await expect(run({ networkConfiguration: undefined })).rejects.toMatchObject({
        name: 'InvalidParameterException',
      });
    });

    it('B73 refuses overrides above 8,192 characters, as they are escaped in JSON', async () => {
      const withPrompt = (value: string) =>
        run({
          overrides: {
            containerOverrides: [{ name: 'engine', environment: [{ name: 'PROMPT', value }] }],
          },
        });
      expect((await withPrompt('x'.repeat(8_000))).tasks).toHaveLength(1);
      for (const value of ['x'.repeat(9_000), '"'.repeat(4_200)]) {
        await expect(withPrompt(value)).rejects.toMatchObject({
          name: 'InvalidParameterException',
          message: expect.stringContaining('8192'),
        });
      }
    });

    it('refuses overrides of a container that is not in the definition', async () => {
      await expect(
        run({ overrides: { containerOverrides: [{ name: 'other' }] } }),
      ).rejects.toMatchObject({ name: 'InvalidParameterException' });
    });

    it('gives the same task for the same client token', async () => {
      const taskDefinition = await register();
      const request = { taskDefinition, clientToken: 'token-1', startedBy: 'run-1' };
      expect(await runOne(request)).toBe(await runOne(request));
    });

    it('refuses a client token with other parameters, and names the tasks it has bought', async () => {
      const taskDefinition = await register();
      const first = await runOne({ taskDefinition, clientToken: 'token-2' });
      await expect(
        run({ taskDefinition, clientToken: 'token-2', tags: [{ key: 'attempt', value: '2' }] }),
      ).rejects.toMatchObject({ name: 'ConflictException', resourceIds: [first] });
    });

    it('describes tasks by id or ARN, with their tags only when asked', async () => {
      const arn = await runOne({ tags: [{ key: 'run', value: '1' }] });
      const byId = await describe([arn.split('/').at(-1) ?? '']);
      expect(byId.tasks?.[0]).toMatchObject({ taskArn: arn });
      expect(byId.tasks?.[0]?.tags ?? []).toEqual([]);
      expect((await describe([arn], ['TAGS'])).tasks?.[0]?.tags).toEqual([
        { key: 'run', value: '1' },
      ]);
    });

    it('names tasks that are missing', async () => {
      await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
      const { tasks, failures } = await describe(['0'.repeat(32)]);
      expect(tasks).toEqual([]);
      expect(failures).toMatchObject([
        { arn: expect.stringMatching(/:task\/engines\/0{32}$/), reason: 'MISSING' },
      ]);
    });

    it('adds tags to a task', async () => {
      const arn = await runOne({ tags: [{ key: 'run', value: '1' }] });
      await client().send(
        new TagResourceCommand({
          resourceArn: arn,
          tags: [
            { key: 'run', value: '2' },
            { key: 'tenant', value: 'a' },
          ],
        }),
      );
      expect((await describe([arn], ['TAGS'])).tasks?.[0]?.tags).toEqual([
        { key: 'run', value: '2' },
        { key: 'tenant', value: 'a' },
      ]);
    });

    it('lists tasks by who started them and by family', async () => {
      const taskDefinition = await register();
      const family = String(taskDefinition.split('/').at(-1)?.split(':')[0]);
      const mine = await runOne({ taskDefinition, startedBy: 'lister' });
      const other = await runOne({ taskDefinition, startedBy: 'someone' });
      const list = async (filter: object) =>
        (await client().send(new ListTasksCommand({ cluster: 'engines', ...filter }))).taskArns;
      expect(await list({ startedBy: 'lister' })).toEqual([mine]);
      expect((await list({ family }))?.toSorted()).toEqual([mine, other].toSorted());
    });

    it('lists running tasks unless it is asked for stopped ones', async () => {
      const taskDefinition = await register();
      const family = String(taskDefinition.split('/').at(-1)?.split(':')[0]);
      const list = async (filter: object) =>
        (await client().send(new ListTasksCommand({ cluster: 'engines', family, ...filter })))
          .taskArns;
      const running = await runOne({ taskDefinition });
      const other = await runOne({ taskDefinition });
      await client().send(new StopTaskCommand({ cluster: 'engines', task: other }));
      expect(await list({})).toEqual([running]);
      expect(await list({ desiredStatus: 'STOPPED' })).toEqual([other]);
    });

    it('lists in pages', async () => {
      const taskDefinition = await register();
      const family = taskDefinition.split('/').at(-1)?.split(':')[0];
      const started = (await run({ taskDefinition, count: 3 })).tasks?.map((task) => task.taskArn);
      const page = (nextToken?: string) =>
        client().send(
          new ListTasksCommand({ cluster: 'engines', family, maxResults: 2, nextToken }),
        );
      const first = await page();
      expect(first.taskArns).toHaveLength(2);
      const second = await page(first.nextToken);
      expect(second.nextToken).toBeUndefined();
      const listed = [...(first.taskArns ?? []), ...(second.taskArns ?? [])];
      expect(listed.toSorted()).toEqual(started?.toSorted());
    });

    it('B83 lists what one starter has started, running and stopped', async () => {
      const taskDefinition = await register();
      const running = await runOne({ taskDefinition, startedBy: 'run-a/1/acme' });
      const stopped = await runOne({ taskDefinition, startedBy: 'run-b/1/acme' });
      await client().send(new StopTaskCommand({ cluster: 'engines', task: stopped }));
      const list = async (startedBy: string, desiredStatus: 'RUNNING' | 'STOPPED') =>
        (
          await client().send(
            new ListTasksCommand({ cluster: 'engines', startedBy, desiredStatus }),
          )
        ).taskArns;
      expect(await list('run-a/1/acme', 'RUNNING')).toEqual([running]);
      expect(await list('run-b/1/acme', 'STOPPED')).toEqual([stopped]);
      expect(await list('run-a/1', 'RUNNING')).toEqual([]);
    });

    it('takes no other filter beside who started a task', async () => {
      await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
      await expect(
        client().send(
          new ListTasksCommand({ cluster: 'engines', startedBy: 'lister', family: 'engine' }),
        ),
      ).rejects.toMatchObject({ name: 'InvalidParameterException' });
    });

    it('refuses a page of no or too many tasks, and a place that it never gave', async () => {
      await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
      for (const wrong of [{ maxResults: 0 }, { maxResults: 101 }, { nextToken: 'made-up' }]) {
        await expect(
          client().send(new ListTasksCommand({ cluster: 'engines', ...wrong })),
        ).rejects.toMatchObject({ name: 'InvalidParameterException' });
      }
    });

    it('knows no tasks that are meant to be pending', async () => {
      await runOne();
      const { taskArns } = await client().send(
        new ListTasksCommand({ cluster: 'engines', desiredStatus: 'PENDING' }),
      );
      expect(taskArns).toEqual([]);
    });

    it('describes up to a hundred tasks at once', async () => {
      const arn = await runOne();
      const ids = (count: number) => [
        arn,
        ...Array.from({ length: count - 1 }, (_, index) => String(index).padStart(32, '0')),
      ];
      expect((await describe(ids(100))).tasks?.map(({ taskArn }) => taskArn)).toEqual([arn]);
      await expect(describe(ids(101))).rejects.toMatchObject({
        name: 'InvalidParameterException',
      });
    });

    it('describes a task that was told to stop as what it still is', async () => {
      const arn = await runOne();
      await client().send(new StopTaskCommand({ cluster: 'engines', task: arn }));
      expect((await describe([arn])).tasks).toMatchObject([
        { desiredStatus: 'STOPPED', lastStatus: expect.any(String) },
      ]);
    });

    it('stops a task, and keeps the reason', async () => {
      const arn = await runOne();
      const stop = (reason: string) =>
        client().send(new StopTaskCommand({ cluster: 'engines', task: arn, reason }));
      expect((await stop('cancelled')).task).toMatchObject({
        taskArn: arn,
        desiredStatus: 'STOPPED',
        stoppedReason: 'cancelled',
      });
    });

    it('says that a user stopped it', async () => {
      const arn = await runOne();
      const { task } = await client().send(new StopTaskCommand({ cluster: 'engines', task: arn }));
      expect(task?.stopCode).toBe('UserInitiated');
      expect(task?.stoppingAt).toBeInstanceOf(Date);
    });

    it('refuses to stop a task that does not exist', async () => {
      await client().send(new CreateClusterCommand({ clusterName: 'engines' }));
      await expect(
        client().send(new StopTaskCommand({ cluster: 'engines', task: '0'.repeat(32) })),
      ).rejects.toMatchObject({ name: 'InvalidParameterException' });
    });
  });
}
