import { posix, win32 } from 'node:path';
import type { z } from 'zod';
import {
  CAPABILITIES,
  type ExecutionRequest,
  PlatformError,
  tripleName,
} from '#shared/contracts/index.ts';
import type { AdapterDescriptor } from './engine-descriptor.ts';

/**
 * What every adapter checks before it prepares a launch, although the platform checked it before accepting: a
 * host must not start an engine on the word of whoever built the request.
 *
 * @returns the parsed config
 * @throws PlatformError `unsupported_capability`, `engine_config_invalid`, `argument_invalid`
 */
export function checkRequest<Config>(
  request: ExecutionRequest,
  descriptor: AdapterDescriptor,
  configSchema: z.ZodType<Config>,
): Config {
  checkCapabilities(request, descriptor);
  checkPrompt(request.input.prompt);
  const parsed = configSchema.safeParse(request.config);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = ['config', ...(issue?.path ?? [])].join('.');
  throw new PlatformError('engine_config_invalid', `${field}: ${issue?.message ?? 'invalid'}`, {
    field: field.slice(0, 200),
    remedy: `see configSchema of ${tripleName(descriptor.triple)} in GET /v1/engines`,
  });
}

function checkCapabilities(request: ExecutionRequest, descriptor: AdapterDescriptor): void {
  const { effective } = request.capabilities;
  const name = tripleName(descriptor.triple);
  const unknown = CAPABILITIES.filter((flag) => effective[flag] && !descriptor.declared[flag]);
  if (unknown.length > 0) {
    throw new PlatformError('unsupported_capability', `${name} cannot do ${unknown.join(', ')}`, {
      field: 'capabilities.effective',
      details: { unsupported: unknown },
    });
  }
  const missing = descriptor.required.filter((flag) => !effective[flag]);
  if (missing.length > 0) {
    throw new PlatformError(
      'unsupported_capability',
      `${name} cannot run without ${missing.join(', ')}`,
      { field: 'capabilities.effective', details: { required: missing } },
    );
  }
}

/** B160, B163: what no process can be given, and what an engine would wait for. */
function checkPrompt(prompt: string): void {
  if (prompt.includes('\0')) {
    throw new PlatformError('argument_invalid', 'the prompt contains a NUL character', {
      field: 'input.prompt',
    });
  }
  // trim() also takes the byte order mark, which engines do.
  if (prompt.trim() === '') {
    throw new PlatformError('argument_invalid', 'the prompt is empty', { field: 'input.prompt' });
  }
}

/** The credentials that were asked for, or an error that names the first one missing. */
export function requireCredential(
  credentials: Readonly<Record<string, string>>,
  name: string,
): string {
  const value = Object.hasOwn(credentials, name) ? credentials[name] : undefined;
  if (value === undefined || value === '') {
    throw new PlatformError(
      'credential_unavailable',
      `the credential "${name}" was not handed to the host`,
      {
        remedy: `put a credential named "${name}" into the tenant's vault`,
      },
    );
  }
  // A header or an environment variable cannot carry it; saying so beats a puzzling refusal by the model.
  if (/[\0\r\n]/.test(value)) {
    throw new PlatformError(
      'argument_invalid',
      `the credential "${name}" contains a line break or NUL`,
    );
  }
  return value;
}

/** A path of the engine relative to its working directory: paths of the host are not shown to users (CON-2). */
export function shownPath(workdir: string, path: string): string {
  if (!posix.isAbsolute(path) && !win32.isAbsolute(path)) return path;
  const relative = posix.relative(workdir, path);
  return relative === '..' || relative.startsWith('../') ? posix.basename(path) : relative;
}
