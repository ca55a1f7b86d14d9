import {
  CodexExecTranslator,
  type TranslatorOptions,
} from '#shared/engines/codex/cli-exec/translator.ts';

/** A translator of a first attempt that may do everything. */
export function codexTranslator(overrides: Partial<TranslatorOptions> = {}): CodexExecTranslator {
  return new CodexExecTranslator({
    engineVersion: '0.171.0',
    workdir: '/run/workdir',
    tools: { commands: true, fileChanges: true, anyTool: true },
    nativeEvents: true,
    attempt: 1,
    budget: {},
    resumeThreadId: undefined,
    baseline: 'new_thread',
    checkOutput: () => undefined,
    ...overrides,
  });
}

export const THREAD = { type: 'thread.started', thread_id: 'th-1' };
export const TURN = { type: 'turn.started' };
export const DONE = {
  type: 'turn.completed',
  usage: { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5 },
};

export function agentMessage(id: string, text: string) {
  return { type: 'item.completed', item: { id, type: 'agent_message', text } };
}

export function command(
  phase: 'started' | 'updated' | 'completed',
  fields: Readonly<Record<string, unknown>> = {},
) {
  return {
    type: `item.${phase}`,
    item: {
      id: 'item_1',
      type: 'command_execution',
      command: "/bin/bash -lc 'echo hello'",
      aggregated_output: '',
      ...(phase === 'completed'
        ? { exit_code: 0, status: 'completed' }
        : { exit_code: null, status: 'in_progress' }),
      ...fields,
    },
  };
}
