import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STAGES, s3PrefixListOf } from '#cdk/stage-config.ts';
import { readTaskEnv } from '#containers/runtime-host/task-env.ts';
import { TASK_CONTAINER_NAME, TASK_ENVIRONMENT } from '#shared/topology/index.ts';
import { type Environment, type Resource, synthesize } from './environment.ts';
import { actionsOf, allowedTo, statementsIn } from './policies.ts';
import type { JsonObject } from './resolve-template.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

/** What Docker gives a container, and so Fargate. */
const DEFAULT_CAPABILITIES = [
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
];

/** Ways out of a network, or into it. */
const CONNECTIONS = [
  'AWS::EC2::EgressOnlyInternetGateway',
  'AWS::EC2::EIP',
  'AWS::EC2::InternetGateway',
  'AWS::EC2::NatGateway',
  'AWS::EC2::Route',
  'AWS::EC2::TransitGatewayAttachment',
  'AWS::EC2::VPCGatewayAttachment',
  'AWS::EC2::VPCPeeringConnection',
  'AWS::EC2::VPNGateway',
];

describe.each(STAGES)('in $name', (config) => {
  let root: string;
  let environment: Environment;
  let container: JsonObject;

  beforeAll(async () => {
    root = await createSourceSkeleton();
    environment = synthesize(config, root);
    const { ContainerDefinitions } = environment.only('AWS::ECS::TaskDefinition').properties;
    const [first, ...others] = ContainerDefinitions as readonly JsonObject[];
    if (!first || others.length > 0) throw new Error('the task has not one container');
    container = first;
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  describe('the engine task', () => {
    it('HST-4 has no role, so no credentials of AWS', () => {
      const task = environment.only('AWS::ECS::TaskDefinition');
      expect(task.properties.TaskRoleArn).toBeUndefined();
      const takenByTasks = environment
        .all('AWS::IAM::Role')
        .filter(({ properties }) => JSON.stringify(properties).includes('ecs-tasks'));
      expect(takenByTasks.map(({ name }) => `${name}.Arn`)).toEqual([
        task.properties.ExecutionRoleArn,
      ]);
    });

    it('HST-4 is pulled and logged with a role that can do nothing else', () => {
      const task = environment.only('AWS::ECS::TaskDefinition').properties;
      const role = String(task.ExecutionRoleArn).replace(/\.Arn$/, '');
      expect(actionsOf(allowedTo(environment, role))).toEqual([
        'ecr:BatchCheckLayerAvailability',
        'ecr:BatchGetImage',
        'ecr:GetAuthorizationToken',
        'ecr:GetDownloadUrlForLayer',
        'logs:CreateLogStream',
        'logs:PutLogEvents',
      ]);
    });

    it('HST-4 has a read-only image and writes to volumes that end with it', () => {
      expect(container.ReadonlyRootFilesystem).toBe(true);
      expect(container.MountPoints).toEqual([
        { SourceVolume: 'work', ContainerPath: '/work', ReadOnly: false },
        { SourceVolume: 'tmp', ContainerPath: '/tmp', ReadOnly: false },
      ]);
      const task = environment.only('AWS::ECS::TaskDefinition').properties;
      // No host path, no EFS, no configuration of any kind: storage of the task itself.
      expect(task.Volumes).toEqual([{ Name: 'work' }, { Name: 'tmp' }]);
    });

    it('is told where to work and how to fence; the rest comes with its launch', () => {
      const told = (container.Environment as readonly { Name: string; Value: string }[]).map(
        ({ Name, Value }) => [Name, Value] as const,
      );
      const launched = {
        [TASK_ENVIRONMENT.runId]: 'run_01JABCDEFGHJKMNPQRSTVWXYZ0',
        [TASK_ENVIRONMENT.gatewayUrl]: 'https://gateway.example.com/live',
        [TASK_ENVIRONMENT.ticket]: 'a-ticket-that-is-used-once',
      };
      const image = { NEXUSDESK_PROGRAMS_ROOT: '/programs' };
      const env = readTaskEnv({ ...Object.fromEntries(told), ...launched, ...image });
      expect(env).toMatchObject({ workRoot: '/work/runs', sandbox: 'uid' });
      expect(told).toHaveLength(2);
      // B82: an override replaces a variable or a secret of the same name.
      expect(Object.keys(launched).filter((name) => told.some(([own]) => own === name))).toEqual(
        [],
      );
      for (const key of ['EnvironmentFiles', 'Secrets', 'Command', 'EntryPoint', 'PortMappings']) {
        expect([key, container[key]]).toEqual([key, undefined]);
      }
      expect(container.Name).toBe(TASK_CONTAINER_NAME);
    });

    it('keeps the capabilities that the sandbox needs, and adds none', () => {
      const { Capabilities, InitProcessEnabled } = container.LinuxParameters as JsonObject;
      const { Add, Drop } = Capabilities as JsonObject;
      expect(Add).toBeUndefined();
      expect(remaining(Drop as readonly string[])).toEqual(['CHOWN', 'KILL', 'SETGID', 'SETUID']);
      expect(InitProcessEnabled).toBe(true);
      expect(container.User).toBe('0');
    });

    // The synthesis' own validation accepts all of these, and Fargate refuses them, or worse.
    it('B49 asks for nothing that Fargate lacks', () => {
      expect(container.Privileged ?? false).toBe(false);
      expect(container.StopTimeout).toBe(120);
      for (const key of [
        'Ulimits',
        'DockerSecurityOptions',
        'VolumesFrom',
        'Links',
        'ExtraHosts',
      ]) {
        expect([key, container[key]]).toEqual([key, undefined]);
      }
      const linux = container.LinuxParameters as JsonObject;
      expect(Object.keys(linux).toSorted()).toEqual(['Capabilities', 'InitProcessEnabled']);
      const task = environment.only('AWS::ECS::TaskDefinition').properties;
      expect(task.PidMode).toBeUndefined();
      expect(task.IpcMode).toBeUndefined();
      expect(task.NetworkMode).toBe('awsvpc');
      expect(task.RequiresCompatibilities).toEqual(['FARGATE']);
      const { SizeInGiB } = task.EphemeralStorage as JsonObject;
      expect(SizeInGiB).toBeGreaterThanOrEqual(21);
      expect(SizeInGiB).toBeLessThanOrEqual(200);
    });

    it('never waits for its logs', () => {
      expect(container.LogConfiguration).toMatchObject({
        LogDriver: 'awslogs',
        Options: {
          mode: 'non-blocking',
          'max-buffer-size': '25m',
          'awslogs-region': config.region,
        },
      });
      const { Options } = container.LogConfiguration as { Options: JsonObject };
      const group = environment
        .all('AWS::Logs::LogGroup')
        .find(({ name }) => name === Options['awslogs-group']);
      // Made here: a task whose group is missing dies at its start.
      expect(group?.properties.LogGroupName).toBe(`/nexusdesk/${config.name}/engine-tasks`);
    });
  });

  describe('the engine network', () => {
    it.each(CONNECTIONS)('SEC-3 has no %s', (type) => {
      expect(environment.all(type)).toEqual([]);
    });

    it('SEC-3 gives no subnet a public address', () => {
      const subnets = environment.all('AWS::EC2::Subnet');
      expect(subnets).toHaveLength(config.network.availabilityZones);
      for (const { properties } of subnets) expect(properties.MapPublicIpOnLaunch).toBe(false);
    });

    it('SEC-3 lets tasks reach endpoints and image layers, and nothing reach tasks', () => {
      const [tasks, endpoints] = ['Engine tasks', 'Endpoints of engine tasks'].map(groupOf);
      expect(environment.all('AWS::EC2::SecurityGroup')).toHaveLength(2);
      const https = { IpProtocol: 'tcp', FromPort: 443, ToPort: 443 };
      // Inside of the group: one that lists nothing starts with everything open.
      expect(tasks!.properties.SecurityGroupEgress).toEqual([
        {
          ...https,
          DestinationSecurityGroupId: `${endpoints!.name}.GroupId`,
          Description: 'Endpoints',
        },
        {
          ...https,
          DestinationPrefixListId: s3PrefixListOf(config),
          Description: 'Image layers, through the gateway endpoint',
        },
      ]);
      expect(tasks!.properties.SecurityGroupIngress).toBeUndefined();
      expect(endpoints!.properties.SecurityGroupIngress).toBeUndefined();
      expect(environment.all('AWS::EC2::SecurityGroupEgress')).toEqual([]);
      expect(
        environment.all('AWS::EC2::SecurityGroupIngress').map((rule) => rule.properties),
      ).toEqual([
        {
          ...https,
          GroupId: `${endpoints!.name}.GroupId`,
          SourceSecurityGroupId: `${tasks!.name}.GroupId`,
          Description: 'Engine tasks',
        },
      ]);
    });

    it('SEC-3 has endpoints for images, logs and the host gateway, each for this account only', () => {
      const endpoints = new Map(
        environment
          .all('AWS::EC2::VPCEndpoint')
          .map(({ properties }) => [
            String(properties.ServiceName).split(`${config.region}.`)[1],
            properties,
          ]),
      );
      expect([...endpoints.keys()].toSorted()).toEqual([
        'ecr.api',
        'ecr.dkr',
        'execute-api',
        'logs',
        's3',
      ]);
      const allowed = (service: string) => statementsIn(endpoints.get(service)?.PolicyDocument);
      const ownAccount = { StringEquals: { 'aws:PrincipalAccount': 'ACCOUNT' } };
      for (const service of ['ecr.api', 'ecr.dkr', 'logs']) {
        for (const { conditions } of allowed(service)) expect(conditions).toEqual(ownAccount);
      }
      expect(actionsOf([...allowed('ecr.api'), ...allowed('ecr.dkr')])).toEqual([
        'ecr:BatchCheckLayerAvailability',
        'ecr:BatchGetImage',
        'ecr:GetAuthorizationToken',
        'ecr:GetDownloadUrlForLayer',
      ]);
      // Calls with a bearer token have no principal: what is called must be ours instead.
      expect(allowed('execute-api')).toEqual([
        {
          effect: 'Allow',
          actions: ['execute-api:Invoke'],
          resources: [`arn:aws:execute-api:${config.region}:ACCOUNT:*`],
          conditions: {},
        },
      ]);
      expect(allowed('s3')).toEqual([
        {
          effect: 'Allow',
          actions: ['s3:GetObject'],
          resources: [`arn:aws:s3:::prod-${config.region}-starport-layer-bucket/*`],
          conditions: {},
        },
      ]);
      for (const [service, properties] of endpoints) {
        const type = service === 's3' ? 'Gateway' : 'Interface';
        expect([service, properties.VpcEndpointType]).toEqual([service, type]);
        if (type === 'Interface') expect(properties.PrivateDnsEnabled).toBe(true);
      }
    });

    it('SEC-3 answers no question about other names, not even when its firewall fails', () => {
      const { FirewallRules } = environment.only(
        'AWS::Route53Resolver::FirewallRuleGroup',
      ).properties;
      const rules = (FirewallRules as readonly JsonObject[]).toSorted(
        (a, b) => Number(a.Priority) - Number(b.Priority),
      );
      const domains = (rule: JsonObject | undefined) =>
        environment
          .all('AWS::Route53Resolver::FirewallDomainList')
          .find(({ name }) => `${name}.Id` === rule?.FirewallDomainListId)?.properties.Domains;
      expect(rules.map(({ Action }) => Action)).toEqual(['ALLOW', 'BLOCK']);
      for (const domain of domains(rules[0]) as readonly string[]) {
        expect(domain).toMatch(
          new RegExp(`^(\\*\\.)?[a-z0-9.-]+\\.${config.region}\\.amazonaws\\.com$`),
        );
      }
      expect(domains(rules[1])).toEqual(['*']);
      const vpc = environment.only('AWS::EC2::VPC').name;
      expect(
        environment.only('AWS::Route53Resolver::FirewallRuleGroupAssociation').properties.VpcId,
      ).toBe(vpc);
      expect(environment.only('AWS::Route53Resolver::FirewallConfig').properties).toEqual({
        ResourceId: vpc,
        FirewallFailOpen: 'DISABLED',
      });
    });

    it('keeps what was tried in vain', () => {
      expect(environment.only('AWS::EC2::FlowLog').properties).toMatchObject({
        ResourceId: environment.only('AWS::EC2::VPC').name,
        TrafficType: 'REJECT',
      });
    });

    function groupOf(description: string): Resource | undefined {
      return environment
        .all('AWS::EC2::SecurityGroup')
        .find(({ properties }) => properties.GroupDescription === description);
    }
  });
});

const remaining = (dropped: readonly string[]) =>
  DEFAULT_CAPABILITIES.filter((capability) => !dropped.includes(capability));

const canLimitCapabilities =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('setpriv', ['--version']).status === 0;

/** Runs the sandbox that engine tasks use, as a root that has only some capabilities. */
function probeSandbox(capabilities: readonly string[]) {
  const bounding = ['-all', ...capabilities.map((name) => `+${name.toLowerCase()}`)].join(',');
  const probe = `
    const { detectSandbox } = await import('#shared/process/index.ts');
    await detectSandbox({ platform: 'linux', required: 'uid' });`;
  return spawnSync(
    'setpriv',
    [
      '--bounding-set',
      bounding,
      '--inh-caps=-all',
      process.execPath,
      '--input-type=module',
      '-e',
      probe,
    ],
    { cwd: PROJECT, encoding: 'utf8', timeout: 60_000 },
  );
}

describe.runIf(canLimitCapabilities)('HST-4 the sandbox of engine tasks', () => {
  const kept = ['CHOWN', 'KILL', 'SETGID', 'SETUID'];

  it('works with the capabilities that the task definition keeps', () => {
    const { status, stderr } = probeSandbox(kept);
    expect([status, stderr]).toEqual([0, '']);
  });

  // KILL is for polite signals to a user's processes; the probe's engine ends by itself.
  it.each(kept.filter((name) => name !== 'KILL'))('would not work without %s', (name) => {
    expect(probeSandbox(kept.filter((other) => other !== name)).status).toBe(1);
  });
});
