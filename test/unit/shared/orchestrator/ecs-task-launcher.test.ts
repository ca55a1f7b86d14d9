import {
  ConflictException,
  DescribeTasksCommand,
  ECSClient,
  InvalidParameterException,
  RunTaskCommand,
  StopTaskCommand,
} from '@aws-sdk/client-ecs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
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
    // B73: overrides are limited to 8,192 characters in all.
    expect(JSON.stringify(call?.args[0].input.overrides).length).toBeLessThan(8_192 / 4);
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
    ['RESOURCE:CPU', false],
    [
      'Capacity is unavailable at this time. Please try again later or in a different availability zone',
      false,
    ],
    ['MISSING', true],
  ])('B70 B74 takes a refusal inside a 200 answer as one: %s', async (reason, permanent) => {
    ecs.on(RunTaskCommand).resolves({ tasks: [], failures: [{ reason }] });
    expect(await launcher.launch(request(1))).toMatchObject({
      outcome: 'refused',
      permanent,
      error: { code: 'launch_failed', message: expect.stringContaining(reason) },
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
    expect(await launcher.launch(request(1))).toEqual({
      outcome: 'launched',
      taskArn: 'arn:task/old',
    });
  });

  it('B83 throws what may pass, with its cause, so that the message comes again', async () => {
    ecs.on(RunTaskCommand).rejects(new Error('ThrottlingException'));
    await expect(launcher.launch(request(1))).rejects.toThrow('ThrottlingException');
  });
});

describe('control', () => {
  it('takes a task that the control plane has forgotten as stopped', async () => {
    ecs
      .on(StopTaskCommand)
      .rejects(new InvalidParameterException({ message: 'not found', $metadata: {} }));
    await expect(launcher.stop('arn:task/1', 'why')).resolves.toBeUndefined();
  });

  it.each([
    [{ tasks: [{ lastStatus: 'RUNNING' }] }, 'running'],
    [{ tasks: [{ lastStatus: 'PROVISIONING' }] }, 'running'],
    [{ tasks: [{ lastStatus: 'STOPPED' }] }, 'stopped'],
    [{ tasks: [], failures: [{ reason: 'MISSING' }] }, 'missing'],
    [{ tasks: [], failures: [{ reason: 'something new' }] }, 'unknown'],
  ])('reads %j as %s', async (reply, state) => {
    ecs.on(DescribeTasksCommand).resolves(reply);
    expect(await launcher.state('arn:task/1')).toBe(state);
  });
});
