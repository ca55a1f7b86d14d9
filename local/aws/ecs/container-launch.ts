import { accessSync, constants, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type HeldProcess, holdProcess } from './held-process.ts';
import type { RunTaskRequest } from './run-task-request.ts';
import type { ContainerDefinition } from './task-definitions.ts';
import type { TaskRecord } from './task-record.ts';

/** What stands for a container image: its entry point as a local command, and where it runs. */
export interface LocalImage {
  readonly command: readonly string[];
  readonly cwd: string;
}

export interface LaunchSettings {
  readonly images: (image: string) => LocalImage | undefined;
  /** The environment every container starts from. */
  readonly env: Readonly<Record<string, string>>;
  readonly logDir: string;
  readonly resolveSecret?: (valueFrom: string) => Promise<string>;
}

/** Why a container could not be started, in the words of the service. */
export class StartFailure extends Error {
  /** Also told as the container's own reason; initialisation errors belong to the task alone. */
  readonly containerName: string | undefined;

  constructor(reason: string, containerName?: string) {
    super(reason);
    this.name = 'StartFailure';
    this.containerName = containerName;
  }
}

export interface ContainerFiles {
  readonly stdoutFile: string;
  readonly stderrFile: string;
}

export function filesOf(logDir: string, taskId: string, containerName: string): ContainerFiles {
  const base = join(logDir, taskId, containerName);
  return { stdoutFile: `${base}.stdout.log`, stderrFile: `${base}.stderr.log` };
}

/**
 * Makes the container's process and holds it. The environment is the base, then the definition's variables and
 * secrets, then the overrides. The image's command comes first, then the override's arguments, or else the
 * definition's. Rejects with {@link StartFailure}.
 */
export async function holdContainer(
  settings: LaunchSettings,
  record: TaskRecord,
  container: ContainerDefinition,
): Promise<HeldProcess> {
  const { name } = container;
  const image = settings.images(container.image);
  if (!image) {
    const why = `failed to resolve ref ${container.image}: not found`;
    throw new StartFailure(`CannotPullContainerError: pull image manifest: ${why}`, name);
  }
  const override = (record.task.overrides as RunTaskRequest['overrides'])?.containerOverrides?.find(
    (candidate) => candidate.name === name,
  );
  const env = {
    ...settings.env,
    ...toEnv(container.environment),
    ...(await resolveSecrets(settings, container)),
    ...toEnv(override?.environment),
  };
  const command = [...image.command, ...(override?.command ?? container.command ?? [])];
  if (!isExecutable(command[0], image.cwd, env.PATH)) {
    const why = `exec: "${command[0]}": executable file not found`;
    throw new StartFailure(`CannotStartContainerError: ${why}`, name);
  }
  mkdirSync(join(settings.logDir, record.id), { recursive: true });
  // Each launch has its own exit file: a held process of a dead stack may still write into an older one.
  const exitFile = join(settings.logDir, record.id, `${name}.${record.task.version}.exit`);
  const files = filesOf(settings.logDir, record.id, name);
  try {
    return await holdProcess({ command, cwd: image.cwd, env, ...files, exitFile });
  } catch (error) {
    throw new StartFailure(`CannotStartContainerError: ${(error as Error).message}`, name);
  }
}

const toEnv = (variables: ContainerDefinition['environment'] = []): Record<string, string> =>
  Object.fromEntries(variables.map(({ name, value }) => [name, value]));

async function resolveSecrets(
  { resolveSecret }: LaunchSettings,
  { secrets = [] }: ContainerDefinition,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  for (const { name, valueFrom } of secrets) {
    try {
      if (!resolveSecret) throw new Error('there is no secret store');
      env[name] = await resolveSecret(valueFrom);
    } catch (error) {
      const why = `unable to retrieve ${valueFrom}: ${(error as Error).message}`;
      throw new StartFailure(`ResourceInitializationError: unable to pull secrets: ${why}`);
    }
  }
  return env;
}

function isExecutable(program: string | undefined, cwd: string, path = '/usr/bin:/bin'): boolean {
  if (!program) return false;
  const places = program.includes('/')
    ? [resolve(cwd, program)]
    : path.split(':').map((folder) => resolve(cwd, folder, program));
  return places.some((place) => {
    try {
      accessSync(place, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
