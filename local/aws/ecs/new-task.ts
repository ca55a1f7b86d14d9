import { randomUUID } from 'node:crypto';
import type { RunTaskRequest } from './run-task-request.ts';
import type { TaskDefinition } from './task-definitions.ts';
import { arnOf, type Place, secondsNow, type TaskRecord } from './task-record.ts';

/** A task as RunTask answers it: accepted, nothing started yet. */
export function newTask(
  place: Place,
  clusterName: string,
  definition: TaskDefinition,
  request: RunTaskRequest,
): TaskRecord {
  const id = randomUUID().replaceAll('-', '');
  const taskArn = arnOf(place, `task/${clusterName}/${id}`);
  const subnet = request.networkConfiguration?.awsvpcConfiguration?.subnets[0];
  const ephemeralStorage = request.overrides?.ephemeralStorage ?? definition.ephemeralStorage;
  const cpu = request.overrides?.cpu ?? definition.cpu;
  const memory = request.overrides?.memory ?? definition.memory;
  return {
    id,
    clusterName,
    family: definition.family,
    tags: [...(request.tags ?? [])],
    processes: {},
    task: {
      taskArn,
      clusterArn: arnOf(place, `cluster/${clusterName}`),
      taskDefinitionArn: definition.taskDefinitionArn,
      lastStatus: 'PROVISIONING',
      desiredStatus: 'RUNNING',
      version: 1,
      containers: definition.containerDefinitions.map((container) => ({
        containerArn: arnOf(place, `container/${clusterName}/${id}/${randomUUID()}`),
        taskArn,
        name: container.name,
        image: container.image,
        lastStatus: 'PENDING',
        cpu: String(container.cpu ?? 0),
        networkInterfaces: [],
      })),
      overrides: {
        containerOverrides: definition.containerDefinitions.map(
          ({ name }) =>
            request.overrides?.containerOverrides?.find((override) => override.name === name) ?? {
              name,
            },
        ),
        inferenceAcceleratorOverrides: [],
      },
      attachments: [
        {
          id: randomUUID(),
          type: 'ElasticNetworkInterface',
          status: 'PRECREATED',
          details: subnet ? [{ name: 'subnetId', value: subnet }] : [],
        },
      ],
      attributes: [{ name: 'ecs.cpu-architecture', value: 'x86_64' }],
      group: request.group ?? `family:${definition.family}`,
      launchType: request.launchType ?? 'FARGATE',
      platformVersion: '1.4.0',
      platformFamily: 'Linux',
      availabilityZone: `${place.region}a`,
      enableExecuteCommand: request.enableExecuteCommand ?? false,
      healthStatus: 'UNKNOWN',
      ...(cpu === undefined ? {} : { cpu }),
      ...(memory === undefined ? {} : { memory }),
      ...(ephemeralStorage === undefined ? {} : { ephemeralStorage }),
      ...(request.startedBy === undefined ? {} : { startedBy: request.startedBy }),
      createdAt: secondsNow(),
    },
  };
}
