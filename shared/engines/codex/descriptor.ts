import { capabilities } from '#shared/contracts/index.ts';
import type { AdapterDescriptor, EngineDefinition } from '../engine-descriptor.ts';
import { codexConfigSchema, providerOf } from './config.ts';

export const codexEngine: EngineDefinition = {
  engineId: 'codex',
  displayName: 'Codex CLI',
  defaultProtocolId: 'cli_exec',
  program: { kind: 'installed', folder: 'codex' },
};

/**
 * One process per run, `codex exec --json`. It reports whole items as they finish: no text deltas, no questions
 * to people while it runs.
 */
export const codexCliExec: AdapterDescriptor = {
  triple: { engineId: 'codex', protocolId: 'cli_exec', adapterVersion: 'v1' },
  status: 'active',
  declared: capabilities(
    'persistent_session',
    'session_resume',
    'cancellation',
    'tool_calling',
    'file_operations',
    'terminal_execution',
    'native_events',
  ),
  required: [],
  // The configuration is read strictly and switches tools off by name: another minor version must be tested first.
  supportedVersions: '~0.171.0',
  configSchema: codexConfigSchema,
  credentialNames: (config) => [providerOf(codexConfigSchema.parse(config)).credential],
};
