import {
  ConflictException,
  DescribeTasksCommand,
  ECSClient,
  ListTasksCommand,
  RunTaskCommand,
} from '@aws-sdk/client-ecs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createExecutionTokens } from '#shared/auth/index.ts';
import { EcsTaskLauncher } from '#shared/orchestrator/ecs-task-launcher.ts';

const ecs = mockClient(ECSClient);
beforeEach(() => ecs.reset());

const launcher = new EcsTaskLauncher(new ECSClient({ region: 'us-east-1' }), {
  clusterArn: 'arn:cluster',
  taskDefinitionArn: 'arn:task-definition/host:7',
  containerName: 'runtime-host',
  subnets: ['subnet-1', 'subnet-2'],
  securityGroups: ['sg-1'],
  gatewayUrl: 'https://gateway.example',
});
const request = (epoch: number) => ({
  ref: { tenantId: 'acme', runId: 'run_01J00000000000000000000000' },
  epoch,
  ticket: 't'.repeat(200),
});

/** An error as the SDK throws it. */
const fault = (name: string, message: string, httpStatusCode?: number) =>
  Object.assign(new Error(message), {
    name,
    $metadata: httpStatusCode ? { httpStatusCode, requestId: 'request-1' } : {},
  });

describe('launch', () => {
  it('asks for exactly one isolated task that is told three things', async () => {
    ecs.on(RunTaskCommand).resolves({ tasks: [{ taskArn: 'arn:task/1' }], failures: [] });
    expect(await launcher.launch(request(1))).toEqual({
      outcome: 'launched',
      taskArn: 'arn:task/1',
    });
    const [call] = ecs.commandCalls(RunTaskCommand);
    expect(call?.args[0].input).toEqual({
      cluster: 'arn:cluster',
      taskDefinition: 'arn:task-definition/host:7',
      launchType: 'FARGATE',
      count: 1,
      clientToken: expect.stringMatching(/^[0-9a-f]{64}$/),
      startedBy: 'run_01J00000000000000000000000/1/acme',
      networkConfiguration: {
        awsvpcConfiguration: {
          subnets: ['subnet-1', 'subnet-2'],
          securityGroups: ['sg-1'],
          assignPublicIp: 'DISABLED',
        },
      },
      overrides: {
        containerOverrides: [
          {
            name: 'runtime-host',
            environment: [
              { name: 'NEXUSDESK_RUN_ID', value: 'run_01J00000000000000000000000' },
              { name: 'NEXUSDESK_GATEWAY_URL', value: 'https://gateway.example' },
              { name: 'NEXUSDESK_TICKET', value: 't'.repeat(200) },
            ],
          },
        ],
      },
    });
  });

  it('B76 uses the same token for the same attempt and another for the next', async () => {
    ecs.on(RunTaskCommand).resolves({ tasks: [{ taskArn: 'arn:task/1' }] });
    for (const epoch of [1, 1, 2]) await launcher.launch(request(epoch));
    const [first, again, next] = ecs
      .commandCalls(RunTaskCommand)
      .map(({ args }) => args[0].input.clientToken);
    expect(again).toBe(first);
    expect(next).not.toBe(first);
  });

  it.each([
    [{ tasks: [], failures: [{ reason: 'RESOURCE:CPU' }] }, 'RESOURCE:CPU', false],
    [
      {
        tasks: [],
        failures: [{ reason: 'Capacity is unavailable at this time.', detail: 'full' }],
      },
      'Capacity is unavailable at this time.: full',
      false,
    ],
    [{ tasks: [], failures: [] }, 'no reason given', false],
    [{ tasks: [], failures: [{ reason: 'MISSING' }] }, 'MISSING', true],
    [{ tasks: [{}], failures: [{ reason: 'AGENT' }] }, 'AGENT', false],
  ])('B70 takes a refusal inside a 200 answer as one: %j', async (answer, said, permanent) => {
    ecs.on(RunTaskCommand).resolves(answer);
    expect(await launcher.launch(request(1))).toMatchObject({
      outcome: 'refused',
      permanent,
      error: { code: 'launch_failed', message: expect.stringContaining(said) },
    });
    expect(ecs.calls()).toHaveLength(1);
  });

  it('B70 takes the task that was made, whatever else the answer says', async () => {
    ecs
      .on(RunTaskCommand)
      .resolves({ tasks: [{ taskArn: 'arn:task/1' }], failures: [{ reason: 'RESOURCE:MEMORY' }] });
    expect(await launcher.launch(request(1))).toEqual({
      outcome: 'launched',
      taskArn: 'arn:task/1',
    });
  });

  it('B76 does not take a task for a launch that has stopped already', async () => {
    ecs.on(RunTaskCommand).resolves({
      tasks: [
        {
          taskArn: 'arn:task/1',
          lastStatus: 'STOPPED',
          stopCode: 'TaskFailedToStart',
          stoppedReason: 'Timeout waiting for network interface provisioning to complete.',
        },
      ],
    });
    expect(await launcher.launch(request(1))).toMatchObject({
      outcome: 'stopped',
      taskArn: 'arn:task/1',
      stop: { cause: 'network_interface', began: false, again: true },
    });
  });

  it.each([
    ['TaskDefinition does not support launch_type FARGATE', 'InvalidParameterException'],
    ['TaskDefinition not found.', 'ClientException'],
    ['not authorized to perform: ecs:RunTask', 'AccessDeniedException'],
  ])(
    'B74 gives up what the control plane rejects, and starts nothing else: %s',
    async (message, name) => {
      ecs.on(RunTaskCommand).rejects(fault(name, message, 400));
      expect(await launcher.launch(request(1))).toMatchObject({
        outcome: 'refused',
        permanent: true,
        error: { code: 'launch_failed', message: expect.stringContaining(message) },
      });
      expect(ecs.calls()).toHaveLength(1);
    },
  );

  it.each([
    ['Rate exceeded', 'ThrottlingException'],
    ["You've reached the limit on the number of tasks you can run concurrently", 'ClientException'],
    [
      'Error retrieving security group information for [sg-1]: Request limit exceeded. (ErrorCode: RequestLimitExceeded)',
      'InvalidParameterException',
    ],
  ])('waits for what there is no room for now: %s', async (message, name) => {
    ecs.on(RunTaskCommand).rejects(fault(name, message, 400));
    ecs.on(ListTasksCommand).resolves({ taskArns: [] });
    expect(await launcher.launch(request(1))).toMatchObject({
      outcome: 'refused',
      permanent: false,
    });
  });

  it('adopts the task that the same token started with other parameters', async () => {
    ecs.on(RunTaskCommand).rejects(
      new ConflictException({
        message: 'conflict',
        resourceIds: ['arn:task/old'],
        $metadata: {},
      }),
    );
    ecs
      .on(DescribeTasksCommand)
      .resolves({ tasks: [{ taskArn: 'arn:task/old', lastStatus: 'PENDING' }] });
    expect(await launcher.launch(request(1))).toEqual({
      outcome: 'launched',
      taskArn: 'arn:task/old',
    });
  });

  describe('B83 whose answers were lost', () => {
    const timeout = fault('TimeoutError', 'socket timed out');
    const denied = fault('AccessDeniedException', 'no, see token=CANARY', 403);
    const listed = (taskArns: string[]) =>
      ecs
        .on(ListTasksCommand, {
          cluster: 'arn:cluster',
          startedBy: 'run_01J00000000000000000000000/1/acme',
          desiredStatus: 'RUNNING',
        })
        .resolves({ taskArns });

    it('is asked for once more with the same token', async () => {
      ecs
        .on(RunTaskCommand)
        .rejectsOnce(timeout)
        .resolves({ tasks: [{ taskArn: 'arn:task/1' }] });
      expect(await launcher.launch(request(1))).toMatchObject({ outcome: 'launched' });
      const tokens = ecs.commandCalls(RunTaskCommand).map(({ args }) => args[0].input.clientToken);
      expect(new Set(tokens).size).toBe(1);
      expect(tokens).toHaveLength(2);
    });

    it('is the task that is found by the name of its attempt', async () => {
      ecs.on(ListTasksCommand).resolves({ taskArns: [] });
      listed(['arn:task/1']);
      ecs
        .on(DescribeTasksCommand)
        .resolves({ tasks: [{ taskArn: 'arn:task/1', lastStatus: 'RUNNING' }] });
      ecs.on(RunTaskCommand).rejectsOnce(timeout).rejects(denied);
      expect(await launcher.launch(request(1))).toEqual({
        outcome: 'launched',
        taskArn: 'arn:task/1',
      });
    });

    it('fails with both errors, their status and request ids, when there is none', async () => {
      ecs.on(ListTasksCommand).resolves({ taskArns: [] });
      ecs.on(RunTaskCommand).rejectsOnce(timeout).rejects(denied);
      const outcome = await launcher.launch(request(1));
      expect(outcome).toMatchObject({ outcome: 'refused', permanent: true });
      const { message } = (outcome as { error: { message: string } }).error;
      expect(message).toContain('TimeoutError');
      expect(message).toContain('AccessDeniedException (HTTP 403, request request-1)');
      expect(message).not.toContain('CANARY');
    });

    it('is thrown with every cause when nobody can say, so that the message comes again', async () => {
      ecs.on(RunTaskCommand).rejects(timeout);
      ecs.on(ListTasksCommand).rejects(fault('ServerException', 'down', 500));
      const thrown = await launcher.launch(request(1)).catch((error: unknown) => error);
      expect(thrown).toMatchObject({ code: 'launch_failed' });
      const { cause } = thrown as { cause: AggregateError };
      expect(cause.errors.map((error: Error) => error.name)).toEqual([
        'TimeoutError',
        'TimeoutError',
        'ServerException',
      ]);
    });
  });

  it('B73 B82 refuses overrides that the control plane would refuse, before any call', async () => {
    const outcome = await launcher.launch({ ...request(1), ticket: '"'.repeat(4_200) });
    expect(outcome).toMatchObject({
      outcome: 'refused',
      permanent: true,
      error: { message: expect.stringContaining('8192') },
    });
    expect(ecs.calls()).toEqual([]);
  });

  it('B73 has overrides of a bounded size for the longest names and a ticket with all of them', async () => {
    ecs.on(RunTaskCommand).resolves({ tasks: [{ taskArn: 'arn:task/1' }] });
    const ref = { tenantId: 't'.repeat(64), runId: request(1).ref.runId };
    const epoch = 9_999_999_999;
    const ticket = createExecutionTokens('secret', () => 0).signTicket({
      ...ref,
      epoch,
      expiresAtMs: Number.MAX_SAFE_INTEGER,
    });
    expect(await launcher.launch({ ref, epoch, ticket })).toMatchObject({ outcome: 'launched' });
    const [call] = ecs.commandCalls(RunTaskCommand);
    expect(JSON.stringify(call?.args[0].input.overrides).length).toBeLessThan(8_192 / 4);
  });
});
