import { capabilities } from '#shared/contracts/index.ts';
import type { AdapterDescriptor, EngineDefinition } from '../engine-descriptor.ts';
import { localTestConfigSchema } from './script.ts';

export const localTestEngine: EngineDefinition = {
  engineId: 'local_test',
  displayName: 'Scripted test engine',
  defaultProtocolId: 'native',
  program: { kind: 'builtin' },
};

/** ADP-1: a real process that does what its configuration says, deterministically. */
export const localTestNative: AdapterDescriptor = {
  triple: { engineId: 'local_test', protocolId: 'native', adapterVersion: 'v1' },
  status: 'active',
  declared: capabilities(
    'streaming',
    'cancellation',
    'tool_calling',
    'file_operations',
    'terminal_execution',
    'native_events',
  ),
  required: [],
  supportedVersions: '^1.0.0',
  configSchema: localTestConfigSchema,
  credentialNames: (config) => localTestConfigSchema.parse(config).credentials ?? [],
};
