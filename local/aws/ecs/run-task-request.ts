import { AwsError } from '#local/aws/kit/aws-error.ts';
import type { TaskDefinition } from './task-definitions.ts';
import type { KeyValue, Tag } from './task-record.ts';

export interface ContainerOverride {
  readonly name: string;
  readonly command?: readonly string[];
  readonly environment?: readonly KeyValue[];
}

/** The parts of a RunTask request that the emulator reads; the rest is accepted and ignored. */
export interface RunTaskRequest {
  readonly cluster?: string;
  readonly taskDefinition: string;
  readonly count?: number;
  readonly clientToken?: string;
  readonly launchType?: string;
  readonly startedBy?: string;
  readonly group?: string;
  readonly enableExecuteCommand?: boolean;
  readonly tags?: readonly Tag[];
  readonly networkConfiguration?: {
    readonly awsvpcConfiguration?: { readonly subnets: readonly string[] };
  };
  readonly overrides?: {
    readonly containerOverrides?: readonly ContainerOverride[];
    readonly cpu?: string;
    readonly memory?: string;
    readonly ephemeralStorage?: unknown;
  };
}

const MAX_COUNT = 10;
const MAX_OVERRIDES_LENGTH = 8192;
const MAX_TAGS = 50;
const CLIENT_TOKEN = /^[\x21-\x7e]{1,64}$/;
const STARTED_BY = /^[A-Za-z0-9_/-]{1,128}$/;

const invalid = (message: string): never => {
  throw new AwsError('InvalidParameterException', message);
};

/** Throws what the service answers to a request that it refuses as a whole. */
export function checkRunTask(request: RunTaskRequest, definition: TaskDefinition): void {
  const { count = 1, clientToken, startedBy, tags = [] } = request;
  if (!Number.isInteger(count) || count < 1 || count > MAX_COUNT) {
    invalid(`Count must be between 1 and ${MAX_COUNT}`);
  }
  if (clientToken !== undefined && !CLIENT_TOKEN.test(clientToken)) {
    invalid('clientToken must be 1 to 64 ASCII characters in the range of 33-126.');
  }
  if (startedBy !== undefined && !STARTED_BY.test(startedBy)) {
    invalid('startedBy must be 1 to 128 letters, numbers, hyphens, slashes and underscores.');
  }
  if (tags.length > MAX_TAGS) invalid(`A maximum of ${MAX_TAGS} tags is allowed.`);
  checkLaunch(request, definition);
  checkOverrides(request, definition);
}

function checkLaunch(request: RunTaskRequest, definition: TaskDefinition): void {
  const compatible = definition.requiresCompatibilities ?? [];
  if (request.launchType === 'FARGATE' && !compatible.includes('FARGATE')) {
    invalid('Task definition does not support launch_type FARGATE.');
  }
  const network = request.networkConfiguration?.awsvpcConfiguration;
  if (definition.networkMode === 'awsvpc') {
    if (!network) {
      invalid(
        "Network Configuration must be provided when networkMode 'awsvpc' is specified in the task definition.",
      );
    }
    if (!network?.subnets?.length) invalid('subnets can not be empty.');
  } else if (network) {
    invalid(
      'Network Configuration is not valid for the given networkMode of this task definition.',
    );
  }
}

/** The limit counts the JSON punctuation, and characters as they are escaped in JSON. */
function checkOverrides(request: RunTaskRequest, definition: TaskDefinition): void {
  if (JSON.stringify(request.overrides ?? {}).length > MAX_OVERRIDES_LENGTH) {
    invalid(`Container Overrides length must be at most ${MAX_OVERRIDES_LENGTH}`);
  }
  const names = new Set(definition.containerDefinitions.map(({ name }) => name));
  for (const { name } of request.overrides?.containerOverrides ?? []) {
    if (!names.has(name)) {
      invalid(`Override for container named ${name} is not a container in the TaskDefinition.`);
    }
  }
}
