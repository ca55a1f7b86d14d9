import { codexCliExecAdapter } from '#shared/engines/codex/cli-exec/adapter.ts';
import { createCodexHarness } from './codex-harness.ts';
import { describeEngineAdapter } from './engine-adapter.suite.ts';

describeEngineAdapter(codexCliExecAdapter, createCodexHarness);
