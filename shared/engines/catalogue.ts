import { codexCliExec, codexEngine } from './codex/descriptor.ts';
import { localTestEngine, localTestNative } from './local-test/descriptor.ts';
import { EngineRegistry } from './registry.ts';

/** The adapters there are, by the name of their triple. `adapters.ts` must have one for each. */
export const ADAPTER_DESCRIPTORS = {
  'local_test/native/v1': localTestNative,
  'codex/cli_exec/v1': codexCliExec,
} as const;
export type AdapterName = keyof typeof ADAPTER_DESCRIPTORS;

/** REG-1, REG-2: what this build of the platform knows. Data only: it can start nothing. */
export const engineRegistry = new EngineRegistry()
  .registerEngine(localTestEngine)
  .registerEngine(codexEngine)
  .registerProtocol({
    protocolId: 'native',
    description: "The engine's own records, one process per run",
  })
  .registerProtocol({
    protocolId: 'cli_exec',
    description: 'A command-line agent run once per prompt, events as JSON lines on stdout',
  });

for (const descriptor of Object.values(ADAPTER_DESCRIPTORS)) {
  engineRegistry.registerAdapter(descriptor);
}
