import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { installEngine } from '#local/engines/install-engine.ts';
import {
  addFilePatch,
  applyPatch,
  httpError,
  lastPrompt,
  type ModelStep,
  respond,
  runCommand,
  SCENARIOS,
  SCRIPTED_MODEL,
  type ScriptedModelServer,
  type ScriptFunction,
  say,
  startScriptedModelServer,
  toolResults,
} from '#local/model-server/index.ts';
import { codexCliExecAdapter } from '#shared/engines/codex/cli-exec/adapter.ts';
import type { EngineLocations } from '#shared/engines/index.ts';
import type { EngineAdapterHarness, Stimulus } from './engine-adapter.suite.ts';

const CONTAINERS = join(import.meta.dirname, '../../containers');
export const MODEL_KEY = 'key-of-the-scripted-model';

export const CODEX_LOCATIONS: EngineLocations = {
  programsRoot: CONTAINERS,
  nodePath: process.execPath,
  platform: process.platform,
  arch: process.arch,
};

/** The program of the pinned version; the first run of these tests downloads it. */
export async function installCodex(): Promise<void> {
  await installEngine('codex', { root: CONTAINERS, onProgress: (line) => console.info(line) });
}

/** Engine section for a run against a scripted model. */
export function offlineConfig(model: ScriptedModelServer): { model: string; provider: object } {
  return {
    model: SCRIPTED_MODEL,
    provider: { baseUrl: model.baseUrl, credential: 'scripted', name: 'scripted' },
  };
}

const usage = { inputTokens: 100, outputTokens: 20, reasoningTokens: 7 };

/** What the model does, by the first word of the prompt: first a step with tools, then a last word. */
const PLAYS: Readonly<Record<string, ScriptFunction>> = {
  work: afterTools([respond([runCommand('echo hello')], { usage }), say('the answer', { usage })]),
  hold: afterTools([respond([runCommand('echo started; sleep 600')]), say('over')]),
  stubborn: (request) => SCENARIOS['ignore-signals'](toolResults(request)),
  fail: () => httpError(429, { message: 'slow down' }),
  command: afterTools([respond([runCommand('echo made > made.txt')]), say('done')]),
  file: afterTools([respond([applyPatch(addFilePatch({ 'made.txt': 'made' }))]), say('done')]),
};

function afterTools(steps: readonly ModelStep[]): ScriptFunction {
  return (request) => {
    const step = steps[Math.min(toolResults(request).length, steps.length - 1)];
    if (step === undefined) throw new TypeError('no steps');
    return step;
  };
}

export async function createCodexHarness(): Promise<EngineAdapterHarness> {
  await installCodex();
  const model = await startScriptedModelServer({
    apiKey: MODEL_KEY,
    script: (request, context) => {
      const play = PLAYS[lastPrompt(request)];
      if (play === undefined) throw new TypeError(`no play for ${lastPrompt(request)}`);
      return play(request, context);
    },
  });
  const config = offlineConfig(model);
  const stimulus = (prompt: keyof typeof PLAYS): Stimulus => ({
    prompt,
    config: config as Stimulus['config'],
  });
  return {
    adapter: codexCliExecAdapter,
    locations: CODEX_LOCATIONS,
    credentials: { scripted: MODEL_KEY },
    scenarios: {
      work: {
        ...stimulus('work'),
        output: 'the answer',
        usage: {
          inputTokens: 200,
          cachedInputTokens: 0,
          outputTokens: 40,
          reasoningTokens: 14,
          toolCalls: 1,
        },
      },
      hold: stimulus('hold'),
      stubborn: stimulus('stubborn'),
      fail: { ...stimulus('fail'), code: 'model_rate_limited' },
      invalid: [
        { config: { model: '-x' }, field: 'config.model' },
        { config: { provider: { baseUrl: 'ftp://x', credential: 'a' } }, field: 'config.provider' },
        { config: { reasoningEffort: 'a lot' }, field: 'config.reasoningEffort' },
      ],
      command: { ...stimulus('command'), creates: 'made.txt' },
      file: { ...stimulus('file'), creates: 'made.txt' },
    },
    carrySession: (from, to) =>
      cp(join(from, 'codex/sessions'), join(to, 'codex/sessions'), { recursive: true }),
    close: () => model.close(),
  };
}
