import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PlatformError } from '#shared/contracts/index.ts';
import { checkRequest, requireCredential } from '../check-request.ts';
import type { EngineAdapter, EngineLocations } from '../engine-adapter.ts';
import { localTestNative } from './descriptor.ts';
import { defaultScript, localTestConfigSchema, scriptStepSchema } from './script.ts';
import { LocalTestTranslator } from './translator.ts';
import type { EngineInput } from './wire.ts';

/** The program comes with the platform; its version is the platform's word for its protocol. */
const VERSION = '1.0.0';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const localTestNativeAdapter: EngineAdapter = {
  descriptor: localTestNative,

  async probe(locations) {
    const reason = await whatIsMissing(locations);
    return reason === undefined
      ? { available: true, version: VERSION }
      : { available: false, reason };
  },

  async prepare(request, context) {
    const config = checkRequest(request, localTestNative, localTestConfigSchema);
    const missing = await whatIsMissing(context.locations);
    if (missing !== undefined) throw new PlatformError('engine_not_installed', missing);
    const { effective } = request.capabilities;
    const allowed = {
      commands: effective.tool_calling && effective.terminal_execution,
      fileChanges: effective.tool_calling && effective.file_operations,
    };
    const script =
      config.script ??
      defaultScript(request.input.prompt).map((step) => scriptStepSchema.parse(step));
    const input: EngineInput = { prompt: request.input.prompt, script, allowed };
    const program = programOf(context.locations);
    return {
      launch: {
        argv: [context.locations.nodePath, program],
        env: {
          PATH,
          HOME: context.homeDir,
          TMPDIR: context.tempDir,
          LANG: 'C.UTF-8',
          ...Object.fromEntries(
            (config.credentials ?? []).map((name) => [
              `CREDENTIAL_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`,
              requireCredential(context.credentials, name),
            ]),
          ),
        },
        stdin: JSON.stringify(input),
        readOnlyPaths: [dirname(program), dirname(context.locations.nodePath)],
        interruptSignal: 'SIGTERM',
      },
      translator: new LocalTestTranslator({
        allowed,
        streaming: effective.streaming,
        nativeEvents: effective.native_events,
        budget: request.budget,
      }),
    };
  },
};

function programOf(locations: EngineLocations): string {
  return join(locations.programsRoot, 'local-test', 'engine.mjs');
}

async function whatIsMissing(locations: EngineLocations): Promise<string | undefined> {
  for (const file of [locations.nodePath, programOf(locations)]) {
    const found = await access(file).then(
      () => true,
      () => false,
    );
    if (!found) return `the scripted test engine is not here: ${file.split('/').at(-1)} is missing`;
  }
  return undefined;
}
