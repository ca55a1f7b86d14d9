import { lastPrompt, type ModelRequest, toolNames, toolResults } from './model-request.ts';
import {
  addFilePatch,
  applyPatch,
  type ModelStep,
  message,
  type OutputItem,
  respond,
  runCommand,
  say,
} from './model-step.ts';
import { scenarioOf } from './scenarios.ts';

/** Name of the offline model: whoever sees it in a run knows that no AI was at work. */
export const SCRIPTED_MODEL = 'offline-scripted';

const LABEL = '[offline scripted model]';

/** One thing the demonstration does, when the run has the tool for it. */
interface DemoStep {
  readonly tool: 'exec_command' | 'apply_patch';
  readonly announce: string;
  readonly item: (prompt: string) => OutputItem;
}

const CHECK_SCRIPT = 'check.sh';

const STEPS: readonly DemoStep[] = [
  {
    tool: 'exec_command',
    announce: 'I look at the working directory.',
    item: () => runCommand('pwd; ls -la'),
  },
  {
    tool: 'apply_patch',
    announce: 'I write a file from your prompt, and a script that checks it.',
    item: (prompt) => applyPatch(addFilePatch(demoFiles(prompt))),
  },
  {
    tool: 'exec_command',
    announce: 'I run the script.',
    item: () => runCommand(`sh ${CHECK_SCRIPT}`),
  },
];

/**
 * The offline demonstration: makes an engine do real work (a command, a file change, a command) and says what
 * came of it. It keeps no state: where it stands follows from the tool results in the request, so any number of
 * runs can share one server. A prompt with `[[scenario:<name>]]` plays that scenario instead (`scenarios.ts`).
 */
export function demoScript(request: ModelRequest): ModelStep {
  const prompt = lastPrompt(request);
  const results = toolResults(request);
  const scenario = scenarioOf(prompt);
  if (scenario !== undefined) return scenario(results);

  const offered = toolNames(request);
  const possible = STEPS.filter(({ tool }) => offered.includes(tool));
  const step = possible[results.length];
  const usage = usageOf(results.length);
  if (step === undefined) return say(summary(prompt, possible, results), { usage });
  const first = results.length === 0 ? `${LABEL} ` : '';
  return respond([message(`${first}${step.announce}`), step.item(prompt)], { usage });
}

function summary(prompt: string, done: readonly DemoStep[], results: readonly string[]): string {
  if (done.length === 0) return `${LABEL} This run may use no tools, so I only read the prompt.`;
  const wrote = done.some(({ tool }) => tool === 'apply_patch');
  const ran = done.at(-1)?.tool === 'exec_command';
  return [
    `${LABEL} Done, without any AI: the same steps for every prompt.`,
    ...(wrote ? [`Files: ${Object.keys(demoFiles(prompt)).join(', ')}.`] : []),
    ...(ran ? [`The last command said: ${lastLine(results.at(-1) ?? '')}`] : []),
  ].join('\n');
}

/** The last line of a command's output, below the header that engines put above it. */
function lastLine(result: string): string {
  return result.trimEnd().split('\n').at(-1) ?? '';
}

function demoFiles(prompt: string): Record<string, string> {
  const name = /(?<![\w/.-])[\w-]{1,60}\.[a-z]{1,6}(?![\w/.-]*\w)/.exec(prompt)?.[0] ?? 'notes.md';
  const file = name === CHECK_SCRIPT ? 'notes.md' : name;
  const text = [
    'Written by the offline scripted model of NexusDesk; no AI read this prompt:',
    '',
    ...prompt.split('\n'),
  ];
  return {
    [file]: text.map((line) => `${commentPrefix(file)}${line}`.trimEnd()).join('\n'),
    [CHECK_SCRIPT]: [
      '#!/bin/sh',
      'set -eu',
      `test -s ${file}`,
      `echo "${file} has $(wc -w < ${file} | tr -d ' ') words"`,
    ].join('\n'),
  };
}

/** A prompt is no program: in a source file it stands as a comment. */
function commentPrefix(file: string): string {
  const extension = file.split('.').at(-1) ?? '';
  if (['py', 'sh', 'rb', 'yml', 'yaml', 'toml'].includes(extension)) return '# ';
  return ['js', 'mjs', 'ts', 'java', 'go', 'rs', 'c', 'cpp'].includes(extension) ? '// ' : '';
}

/** Made up but plausible, and growing with the conversation as real counts do. */
function usageOf(turn: number) {
  return { inputTokens: 900 + 250 * turn, cachedTokens: turn > 0 ? 800 : 0, outputTokens: 60 };
}
