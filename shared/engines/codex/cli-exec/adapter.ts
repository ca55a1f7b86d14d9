import { join, relative } from 'node:path';
import { type ExecutionRequest, PlatformError } from '#shared/contracts/index.ts';
import { checkRequest, requireCredential } from '../../check-request.ts';
import type { EngineAdapter, PrepareContext } from '../../engine-adapter.ts';
import { type CodexConfig, codexConfigSchema, providerOf } from '../config.ts';
import { codexCliExec } from '../descriptor.ts';
import { execArguments } from './arguments.ts';
import { renderConfigToml } from './config-toml.ts';
import { type CodexBinary, locateCodex } from './locate-binary.ts';
import { isKnownModel, renderModelCatalog } from './model-catalog.ts';
import { outputCheck } from './output-schema.ts';
import { sandboxMode, type ToolAccess, toolAccess } from './tool-access.ts';
import { CodexExecTranslator } from './translator.ts';

/** CODEX_HOME below the engine's home. */
const CODEX_FOLDER = 'codex';
/** The engine gets no path of the host's. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Errors only, but not that a provider's list of models is not in Codex's own format: no provider's is. */
const RUST_LOG = 'error,codex_models_manager=off';
const THREAD_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** ADP-3: the Codex CLI, one process per run. */
export const codexCliExecAdapter: EngineAdapter = {
  descriptor: codexCliExec,

  async probe(locations) {
    const binary = await locateCodex(locations);
    return binary.found
      ? { available: true, version: binary.version }
      : { available: false, reason: binary.reason };
  },

  async prepare(request, context) {
    const config = checkRequest(request, codexCliExec, codexConfigSchema);
    const resumeThreadId = threadToResume(request);
    const provider = providerOf(config);
    const key = requireCredential(context.credentials, provider.credential);
    const checkOutput = outputCheck(config.outputSchema);
    const binary = requireBinary(await locateCodex(context.locations));
    const tools = toolAccess(request.capabilities.effective);
    const home = codexHome(context);
    const files = await writeFiles(config, key, tools, context, home);

    return {
      launch: {
        argv: execArguments({
          file: binary.file,
          sandbox: sandboxMode(tools, context.isolation),
          outputSchemaPath: files.outputSchemaPath,
          resumeThreadId,
        }),
        env: {
          PATH,
          HOME: context.homeDir,
          CODEX_HOME: home,
          TMPDIR: context.tempDir,
          LANG: 'C.UTF-8',
          NO_COLOR: '1',
          RUST_LOG,
        },
        stdin: request.input.prompt,
        readOnlyPaths: [binary.folder],
        // SIGTERM kills Codex at once and leaves an unconfined command running; SIGINT makes it end its commands.
        interruptSignal: 'SIGINT',
      },
      translator: new CodexExecTranslator({
        engineVersion: binary.version,
        workdir: context.workdir,
        tools,
        nativeEvents: request.capabilities.effective.native_events,
        attempt: request.attempt,
        budget: request.budget,
        resumeThreadId,
        baseline: resumeThreadId === undefined ? 'new_thread' : 'unknown',
        checkOutput,
      }),
    };
  },
};

function threadToResume(request: ExecutionRequest): string | undefined {
  const id = request.session?.nativeSessionId;
  if (id === undefined) return undefined;
  if (!request.capabilities.effective.session_resume) {
    throw new PlatformError('unsupported_capability', 'this run may not resume a session', {
      field: 'capabilities.effective',
    });
  }
  // By any other name Codex would begin a new thread without a word, and an option must not look like one.
  if (!THREAD_ID.test(id)) {
    throw new PlatformError('argument_invalid', 'the native session id is no Codex thread id', {
      field: 'session.nativeSessionId',
    });
  }
  return id;
}

function requireBinary(binary: CodexBinary): Extract<CodexBinary, { found: true }> {
  if (binary.found) return binary;
  throw new PlatformError(binary.code, binary.reason);
}

/**
 * Codex refuses to put its helpers into a home below the temporary directory, goes on, and then every sandboxed
 * command fails while the run succeeds. So it must not start there.
 */
function codexHome(context: PrepareContext): string {
  const below = relative(context.tempDir, context.homeDir);
  if (below !== '..' && !below.startsWith('../')) {
    throw new PlatformError(
      'workdir_unavailable',
      'the home of Codex must not be inside its temporary directory',
    );
  }
  return join(context.homeDir, CODEX_FOLDER);
}

async function writeFiles(
  config: CodexConfig,
  key: string,
  tools: ToolAccess,
  context: PrepareContext,
  home: string,
): Promise<{ readonly outputSchemaPath: string | undefined }> {
  const write = async (name: string, content: string): Promise<string> => {
    await context.writeHomeFile(join(CODEX_FOLDER, name), content);
    return join(home, name);
  };
  const { model, outputSchema } = config;
  const catalogPath =
    model === undefined || isKnownModel(model)
      ? undefined
      : await write('model-catalog.json', renderModelCatalog(model, tools));
  const outputSchemaPath =
    outputSchema === undefined
      ? undefined
      : await write('output-schema.json', JSON.stringify(outputSchema));
  const keyPath = await write('model-key', key);
  const provider = providerOf(config);
  await write('config.toml', renderConfigToml({ config, provider, tools, catalogPath, keyPath }));
  return { outputSchemaPath };
}
