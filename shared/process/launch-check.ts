import { constants, type Stats } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LaunchFailure } from './process-outcome.ts';
import type { ProcessSpec } from './process-spec.ts';

/**
 * Finds what would make a launch fail, before a wrapper program would hide the reason: a missing program
 * behind `setpriv` is an exit code of `setpriv`.
 */
export async function checkLaunch(spec: ProcessSpec): Promise<LaunchFailure | undefined> {
  return checkText(spec) ?? (await checkProgram(spec.argv[0])) ?? (await checkDirectory(spec.cwd));
}

function checkText({ argv, cwd, env }: ProcessSpec): LaunchFailure | undefined {
  const invalid = (message: string): LaunchFailure => ({ code: 'argument_invalid', message });
  const position = argv.findIndex((argument) => argument.includes('\0'));
  if (position !== -1) return invalid(`argument ${position} contains a NUL byte`);
  if (cwd.includes('\0')) return invalid('the working directory contains a NUL byte');
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name))
      return invalid('an environment variable has an invalid name');
    if (value.includes('\0')) return invalid(`environment variable ${name} contains a NUL byte`);
  }
  if (!isAbsolute(argv[0])) return invalid('the program is not an absolute path');
  return undefined;
}

async function checkProgram(file: string): Promise<LaunchFailure | undefined> {
  try {
    const found = await look(file);
    if (found === undefined) return undefined;
    if (!found.isFile()) return launchFailure({ code: 'EACCES' }, `${file} is no file`);
    await access(file, constants.X_OK);
    return undefined;
  } catch (error) {
    return launchFailure(error, `cannot run ${file}`);
  }
}

async function checkDirectory(cwd: string): Promise<LaunchFailure | undefined> {
  const found = await look(cwd).catch(() => null);
  if (found === undefined || found?.isDirectory()) return undefined;
  return { code: 'engine_start_failed', errno: 'ENOENT', message: `no working directory ${cwd}` };
}

/** Undefined where the host may not look although the run's user may: the launch itself will tell. */
async function look(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
}

/** Sorts an error of `spawn`, or of a look at the program file, into the platform's codes. */
export function launchFailure(error: unknown, what: string): LaunchFailure {
  const { code: errno, message } = error as { code?: unknown; message?: unknown };
  if (typeof errno !== 'string') {
    return { code: 'engine_start_failed', message: `${what}: ${message}` };
  }
  switch (errno) {
    case 'E2BIG':
      return {
        code: 'argument_invalid',
        errno,
        message: 'arguments and environment are over the system limit',
      };
    case 'ERR_INVALID_ARG_VALUE':
      return { code: 'argument_invalid', message: 'an argument cannot be given to a process' };
    case 'ENOENT':
    case 'ENOTDIR':
      return { code: 'engine_not_installed', errno, message: `${what}: ${errno}` };
    default:
      return { code: 'engine_start_failed', errno, message: `${what}: ${errno}` };
  }
}
