import type { AdapterName } from './catalogue.ts';
import { codexCliExecAdapter } from './codex/cli-exec/adapter.ts';
import type { EngineAdapter } from './engine-adapter.ts';
import { localTestNativeAdapter } from './local-test/adapter.ts';

/** What a host can run, by the name of the triple. One that the catalogue names and this forgets does not compile. */
const adapters = {
  'local_test/native/v1': localTestNativeAdapter,
  'codex/cli_exec/v1': codexCliExecAdapter,
} satisfies Record<AdapterName, EngineAdapter>;

export const ENGINE_ADAPTERS: Readonly<Record<string, EngineAdapter>> = adapters;
