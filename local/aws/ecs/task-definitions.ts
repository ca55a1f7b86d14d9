import { AwsError } from '#local/aws/kit/aws-error.ts';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { arnOf, type KeyValue, type Place, secondsNow, type Tag } from './task-record.ts';

export interface ContainerDefinition {
  readonly name: string;
  readonly image: string;
  readonly essential?: boolean;
  readonly cpu?: number;
  /** Arguments for the image's own command. */
  readonly command?: readonly string[];
  readonly environment?: readonly KeyValue[];
  readonly secrets?: readonly { readonly name: string; readonly valueFrom: string }[];
  /** Seconds between SIGTERM and SIGKILL. */
  readonly stopTimeout?: number;
  readonly privileged?: boolean;
  readonly dependsOn?: readonly unknown[];
  readonly environmentFiles?: readonly unknown[];
}

export interface TaskDefinition {
  readonly taskDefinitionArn: string;
  readonly family: string;
  readonly revision: number;
  readonly containerDefinitions: readonly ContainerDefinition[];
  readonly requiresCompatibilities?: readonly string[];
  readonly networkMode?: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly ephemeralStorage?: unknown;
}

interface RegisterRequest extends Partial<Omit<TaskDefinition, 'taskDefinitionArn' | 'revision'>> {
  readonly tags?: readonly Tag[];
}

/** Task sizes of Fargate: CPU units to the memory (MiB) they allow, from, to, in steps of. */
const FARGATE_SIZES: Readonly<Record<string, readonly [from: number, to: number, step: number]>> = {
  256: [512, 2048, 512],
  512: [1024, 4096, 1024],
  1024: [2048, 8192, 1024],
  2048: [4096, 16_384, 1024],
  4096: [8192, 30_720, 1024],
  8192: [16_384, 61_440, 4096],
  16384: [32_768, 122_880, 8192],
};

const NAME = /^[A-Za-z0-9_-]{1,255}$/;

const refuse = (message: string): never => {
  throw new AwsError('ClientException', message);
};

/** Families of task definitions; a revision never changes once it is registered. */
export class TaskDefinitions {
  readonly #database: StateDatabase;
  readonly #place: Place;

  constructor(database: StateDatabase, place: Place) {
    this.#database = database;
    this.#place = place;
    database.exec(`CREATE TABLE IF NOT EXISTS ecs_task_definitions (
      family TEXT NOT NULL, revision INTEGER NOT NULL, definition TEXT NOT NULL, tags TEXT NOT NULL,
      PRIMARY KEY (family, revision)) STRICT`);
  }

  register(request: RegisterRequest): { taskDefinition: TaskDefinition; tags: readonly Tag[] } {
    const { tags = [], ...rest } = request;
    const containers = checkRegistration(rest);
    const family = rest.family as string;
    const revision = (this.#latestRevision(family) ?? 0) + 1;
    const definition = {
      ...rest,
      family,
      revision,
      taskDefinitionArn: arnOf(this.#place, `task-definition/${family}:${revision}`),
      status: 'ACTIVE',
      networkMode: rest.networkMode ?? 'bridge',
      compatibilities: ['EC2', 'FARGATE'],
      requiresAttributes: [],
      placementConstraints: [],
      volumes: [],
      registeredAt: secondsNow(),
      registeredBy: `arn:aws:iam::${this.#place.accountId}:root`,
      containerDefinitions: containers.map((container) => ({
        cpu: 0,
        essential: true,
        environment: [],
        mountPoints: [],
        portMappings: [],
        volumesFrom: [],
        ...container,
      })),
    };
    this.#database
      .prepare('INSERT INTO ecs_task_definitions VALUES (?, ?, ?, ?)')
      .run(family, revision, JSON.stringify(definition), JSON.stringify(tags));
    return { taskDefinition: definition, tags };
  }

  /** Takes `family`, `family:revision` or an ARN; the newest revision when none is named. */
  find(reference: unknown): { taskDefinition: TaskDefinition; tags: Tag[] } | undefined {
    if (typeof reference !== 'string' || !reference) {
      return refuse('TaskDefinition can not be blank.');
    }
    const [family = '', wanted] = (reference.split('/').at(-1) ?? '').split(':');
    const revision = wanted === undefined ? this.#latestRevision(family) : Number(wanted);
    const row = Number.isInteger(revision)
      ? this.#database
          .prepare(
            'SELECT definition, tags FROM ecs_task_definitions WHERE family=? AND revision=?',
          )
          .get(family, revision as number)
      : undefined;
    if (!row) return undefined;
    return {
      taskDefinition: JSON.parse(String(row.definition)),
      tags: JSON.parse(String(row.tags)),
    };
  }

  #latestRevision(family: string): number | undefined {
    const row = this.#database
      .prepare('SELECT max(revision) AS revision FROM ecs_task_definitions WHERE family=?')
      .get(family);
    return row?.revision === null ? undefined : Number(row?.revision);
  }
}

function checkRegistration(request: RegisterRequest): readonly ContainerDefinition[] {
  const containers = request.containerDefinitions ?? [];
  if (!request.family) refuse('Family should not be null or empty.');
  if (!NAME.test(String(request.family))) refuse('Family contains invalid characters.');
  if (containers.length === 0) refuse('Container list cannot be empty.');
  const names = new Set<string>();
  for (const container of containers) {
    if (!container.name) refuse('Container.name should not be null or empty.');
    if (!NAME.test(container.name)) refuse('Container.name contains invalid characters.');
    if (!container.image) refuse('Container.image should not be null or empty.');
    if (names.has(container.name)) refuse(`Duplicate container name: ${container.name}`);
    names.add(container.name);
    for (const field of ['dependsOn', 'environmentFiles'] as const) {
      // Ours, not the service's answer: better refused here than ignored.
      if (container[field]?.length) refuse(`${field} is not supported by the local ECS.`);
    }
  }
  if (!containers.some((container) => container.essential ?? true)) {
    refuse('At least one container in the task definition must be marked as essential.');
  }
  if (request.requiresCompatibilities?.includes('FARGATE')) checkFargate(request, containers);
  return containers;
}

function checkFargate(request: RegisterRequest, containers: readonly ContainerDefinition[]): void {
  if (request.networkMode !== 'awsvpc') refuse("Fargate only supports network mode 'awsvpc'.");
  if (!request.cpu) refuse("Fargate requires that 'cpu' be defined at the task level.");
  if (!request.memory) refuse("Fargate requires that 'memory' be defined at the task level.");
  const size = FARGATE_SIZES[String(request.cpu)];
  const memory = Number(request.memory);
  if (!size || memory < size[0] || memory > size[1] || memory % size[2] !== 0) {
    refuse('No Fargate configuration exists for given values.');
  }
  for (const { name, privileged, stopTimeout } of containers) {
    if (privileged) refuse("Fargate does not support 'privileged' containers.");
    if (stopTimeout !== undefined && (stopTimeout < 2 || stopTimeout > 120)) {
      refuse(`The stopTimeout of container ${name} must be between 2 and 120 seconds on Fargate.`);
    }
  }
}
