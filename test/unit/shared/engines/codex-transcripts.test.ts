import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ErrorCode, SideEffects } from '#shared/contracts/index.ts';
import { codexTranslator } from './codex-translator.ts';
import { ending, payloadsOf, type Replay, replay } from './support.ts';

const FOLDER = join(import.meta.dirname, '../../../fixtures/engines/codex-exec');
const ENDINGS = z
  .record(
    z.string(),
    z.object({
      exitCode: z.number().nullable(),
      signal: z.string().nullable(),
      stderr: z.string(),
    }),
  )
  .parse(JSON.parse(readFileSync(join(FOLDER, 'endings.json'), 'utf8')));

interface Completed {
  readonly output: string | null;
  /** Tokens in and out. */
  readonly tokens: readonly [number, number];
  /** `<kind> <status> [exit code]` of each, in the order they ended. */
  readonly tools?: readonly string[];
}
interface Failed {
  readonly code: ErrorCode;
  readonly sideEffects?: SideEffects;
  readonly tools?: readonly string[];
}

const ONE_CALL = [100, 20] as const;
const TWO_CALLS = [200, 40] as const;
const COMMAND = ['command completed 0'];
const KILLED: Failed = { code: 'engine_crashed', sideEffects: 'maybe', tools: ['command aborted'] };
const START_FAILED: Failed = { code: 'engine_start_failed' };
const UNAVAILABLE: Failed = { code: 'model_unavailable' };

const EXPECTED: Readonly<Record<string, Completed | Failed>> = {
  // Work done
  'success-command': { output: 'Done: wrote out.txt', tokens: TWO_CALLS, tools: COMMAND },
  'success-command-catalog': { output: 'Done: wrote out.txt', tokens: TWO_CALLS, tools: COMMAND },
  'stdin-prompt': { output: 'got stdin', tokens: ONE_CALL },
  ephemeral: { output: 'eph', tokens: ONE_CALL },
  'empty-message': { output: null, tokens: ONE_CALL },
  'reasoning-and-preamble': { output: 'final', tokens: [600, 70], tools: COMMAND },
  'parallel-calls': { output: 'both', tokens: TWO_CALLS, tools: [...COMMAND, ...COMMAND] },
  'command-long-yield': { output: 'ok', tokens: [300, 60], tools: COMMAND },
  'non-root-user': { output: 'x', tokens: TWO_CALLS, tools: COMMAND },
  'output-schema': { output: '{"summary":"ok","count":2}', tokens: ONE_CALL },
  'output-schema-model-ignores-schema': { output: 'not json at all', tokens: ONE_CALL },
  'apply-patch-custom': {
    output: 'patched',
    tokens: [400, 80],
    tools: ['file_change completed', 'file_change completed', 'file_change completed'],
  },
  'apply-patch-shell-heredoc': {
    output: 'patched',
    tokens: TWO_CALLS,
    tools: ['file_change completed'],
  },
  'code-mode-gpt-6.2-sol': {
    output: 'ok',
    tokens: [400, 80],
    tools: ['command completed 0', 'file_change completed'],
  },
  'mcp-tool-call': {
    output: 'sum is 5',
    tokens: [400, 80],
    tools: ['mcp completed', 'mcp failed'],
  },
  'mcp-tool-call-default-approval': { output: 'x', tokens: TWO_CALLS, tools: ['mcp completed'] },
  'mcp-optional-fails': { output: 'x', tokens: ONE_CALL },
  'web-search-item': { output: 'searched', tokens: ONE_CALL, tools: ['web completed'] },
  'subagent-collab': {
    output: 'parent done',
    tokens: [300, 60],
    tools: ['agent completed', 'agent completed'],
  },
  'resume-1-first': { output: 'first answer', tokens: TWO_CALLS, tools: COMMAND },

  // Something was refused or went wrong on the way, and the turn completed
  'command-fails': {
    output: 'command failed with 3',
    tokens: TWO_CALLS,
    tools: ['command failed 3'],
  },
  'turn-ends-with-running-command': {
    output: 'left it running',
    tokens: TWO_CALLS,
    tools: ['command aborted'],
  },
  'apply-patch-bad': { output: 'could not patch', tokens: TWO_CALLS },
  'apply-patch-outside': { output: 'outside', tokens: TWO_CALLS },
  'bad-tool-args': { output: 'args were bad', tokens: TWO_CALLS },
  'unknown-tool': { output: 'tool was unknown', tokens: TWO_CALLS },
  'legacy-shell-tool': { output: 'x', tokens: TWO_CALLS },
  'update-plan': { output: 'x', tokens: TWO_CALLS },
  bypass: { output: 'bypass', tokens: TWO_CALLS },
  'escalation-request': { output: 'refused', tokens: TWO_CALLS },
  'exec-approval-on-request': { output: 'x', tokens: TWO_CALLS },
  'read-only': { output: 'ro', tokens: TWO_CALLS, tools: COMMAND },
  'write-outside-sandbox': { output: 'blocked', tokens: TWO_CALLS, tools: COMMAND },
  'git-commit-in-sandbox': { output: 'x', tokens: TWO_CALLS, tools: COMMAND },
  'network-in-sandbox': { output: 'x', tokens: TWO_CALLS, tools: COMMAND },
  'network-enabled': { output: 'x', tokens: TWO_CALLS, tools: COMMAND },
  'danger-full-access': { output: 'danger', tokens: TWO_CALLS, tools: COMMAND },
  'codex-home-under-TMPDIR': {
    output: 'x',
    tokens: [300, 60],
    tools: ['command failed 1', 'file_change failed'],
  },
  'sandbox-no-userns': { output: 'x', tokens: TWO_CALLS, tools: ['command failed 1'] },
  'sandbox-no-userns-legacy-landlock': { output: 'x', tokens: TWO_CALLS },

  // The model failed and a retry helped: notices are not endings (B02)
  'cut-midway-then-ok': { output: 'ok after reconnect', tokens: ONE_CALL },
  'http-429-then-ok': { output: 'ok after 429', tokens: ONE_CALL },
  'http-500-then-ok': { output: 'ok after 500', tokens: ONE_CALL },

  // The model failed
  'http-400': { code: 'model_request_refused' },
  'last-message-on-error': { code: 'model_request_refused' },
  'response-incomplete': { code: 'model_request_refused' },
  'http-401': { code: 'model_unauthenticated' },
  'http-403': { code: 'model_unauthenticated' },
  'http-404': { code: 'model_not_found' },
  'http-429': { code: 'model_rate_limited' },
  'http-429-quota': { code: 'model_rate_limited' },
  'response-failed-rate': { code: 'model_rate_limited' },
  'response-failed-context': { code: 'model_context_exceeded' },
  'http-500': UNAVAILABLE,
  'http-503': UNAVAILABLE,
  'conn-refused-bounded': UNAVAILABLE,
  'cut-midway': UNAVAILABLE,
  'eof-no-completed': UNAVAILABLE,
  'hang-idle-timeout': UNAVAILABLE,
  'html-200': UNAVAILABLE,
  'invalid-sse-json': UNAVAILABLE,
  'response-failed-server': UNAVAILABLE,
  'missing-env-key': { code: 'credential_unavailable' },

  // Codex ended without a verdict
  'conn-refused': { code: 'engine_crashed' },
  'signal-midstream-SIGINT': { code: 'engine_crashed' },
  'signal-midstream-SIGTERM': { code: 'engine_crashed' },
  'danger-command-SIGINT': KILLED,
  'danger-command-SIGKILL': KILLED,
  'danger-command-SIGTERM': KILLED,
  'signal-SIGHUP': KILLED,
  'signal-SIGINT': KILLED,
  'signal-SIGKILL': KILLED,
  'signal-SIGTERM': KILLED,
  'signal-double-int': KILLED,

  // Codex never got to work
  'bad-cd': START_FAILED,
  'bad-flag': START_FAILED,
  'config-toml-syntax-error': START_FAILED,
  'ephemeral-resume': START_FAILED,
  'home-missing': START_FAILED,
  'mcp-required-fails': START_FAILED,
  'no-git-check': START_FAILED,
  'output-schema-missing-file': START_FAILED,
  'resume-4-unknown-id': START_FAILED,
  'stdin-prompt-open-pipe': START_FAILED,
  'strict-config': START_FAILED,
};

/** Resumed threads: their usage is a total, so it is replayed with what the thread had used before. */
const RESUMED = {
  'resume-2-resume': { output: 'second answer', before: [200, 40], used: ONE_CALL },
  'resume-3-last': { output: 'third', before: [300, 60], used: ONE_CALL },
  'resume-6-copied-rollout-other-home': { output: 'fourth', before: [400, 80], used: ONE_CALL },
  'signal-SIGHUP-then-resume': { output: 'resumed fine', before: [0, 0], used: ONE_CALL },
  'signal-SIGINT-then-resume': { output: 'resumed fine', before: [100, 20], used: ONE_CALL },
  'signal-SIGKILL-then-resume': { output: 'resumed fine', before: [0, 0], used: ONE_CALL },
  'signal-SIGTERM-then-resume': { output: 'resumed fine', before: [0, 0], used: ONE_CALL },
} as const;
/** Resumed by a name that is no thread id: Codex began a new thread and said nothing. */
const OTHER_THREAD = 'resume-5-bad-name';

describe('ADP-3 transcripts of codex exec', () => {
  it('are all in one of the tables', () => {
    const recorded = readdirSync(FOLDER)
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => name.replace('.jsonl', ''));
    const tables = [...Object.keys(EXPECTED), ...Object.keys(RESUMED), OTHER_THREAD];
    expect(tables.sort()).toEqual(Object.keys(ENDINGS).sort());
    expect(tables).toEqual(expect.arrayContaining(recorded));
  });

  it.each(Object.entries(EXPECTED))('%s', (name, expected) => {
    const { events, result } = replayTranscript(name);

    const completions = payloadsOf(events, 'tool.completed');
    expect(completions.map(toolLine)).toEqual(expected.tools ?? []);
    const starts = payloadsOf(events, 'tool.started').map(({ toolCallId }) => toolCallId);
    expect(starts.sort()).toEqual(completions.map(({ toolCallId }) => toolCallId).sort());
    if ('code' in expected) {
      expect(result).toMatchObject({
        status: 'failed',
        output: null,
        error: { code: expected.code, sideEffects: expected.sideEffects ?? 'none' },
      });
      expect(result.usage).not.toHaveProperty('inputTokens');
    } else {
      expect(result).toMatchObject({ status: 'completed', output: expected.output });
      expect(result).not.toHaveProperty('error');
      expect([result.usage.inputTokens, result.usage.outputTokens]).toEqual(expected.tokens);
      expect(result.usage.toolCalls).toBe(completions.length);
    }
  });

  it.each(Object.entries(RESUMED))('B07 %s counts its own tokens', (name, expected) => {
    const [input_tokens, output_tokens] = expected.before;
    const { result } = replayTranscript(name, { baseline: { input_tokens, output_tokens } });
    expect(result).toMatchObject({ status: 'completed', output: expected.output });
    expect([result.usage.inputTokens, result.usage.outputTokens]).toEqual(expected.used);
  });

  it('a resumed thread with an unknown past has unknown usage', () => {
    const { events, result } = replayTranscript('resume-2-resume', { baseline: 'unknown' });
    expect(result.usage).toEqual({ toolCalls: 0 });
    expect(payloadsOf(events, 'usage.updated')).toEqual([]);
    expect(result.metadata.threadUsage).toMatchObject({ input_tokens: 300, output_tokens: 60 });
  });

  it('another thread than the one to resume stops the engine', () => {
    const { result, stops } = replayTranscript(OTHER_THREAD, { resumeThreadId: 'th-wanted' });
    expect(stops).toEqual(['protocol_violation']);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'protocol_violation' } });
  });

  it('a text that a broken stream repeats is shown once', () => {
    const { events } = replayTranscript('eof-no-completed');
    expect(payloadsOf(events, 'message.completed').map(({ text }) => text)).toEqual(['partial']);
    const native = events.filter(({ eventType }) => eventType === 'codex.item.completed');
    expect(native.map(({ payload }) => payload)).toHaveLength(3);
  });

  it('reasoning is told from the answer, and paths are relative to the working directory', () => {
    const reasoning = replayTranscript('reasoning-and-preamble').events;
    expect(payloadsOf(reasoning, 'message.completed').map(({ role }) => role)).toEqual([
      'reasoning',
      'assistant',
      'assistant',
    ]);
    const patch = payloadsOf(replayTranscript('apply-patch-custom').events, 'tool.completed');
    expect(patch[1]?.changes).toEqual([
      { path: 'a.txt', kind: 'update' },
      { path: 'b/c.txt', kind: 'add' },
    ]);
  });

  it('a start that failed says why', () => {
    const { error } = replayTranscript('config-toml-syntax-error').result;
    expect(error?.message).toContain('unclosed array');
    expect(error?.details).toMatchObject({ exitCode: 1, signal: null });
  });
});

function replayTranscript(
  name: string,
  options: Parameters<typeof codexTranslator>[0] = {},
): Replay {
  const file = join(FOLDER, `${name}.jsonl`);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  const end = ENDINGS[name];
  if (end === undefined) throw new Error(`no ending of ${name}`);
  const { exitCode, signal, stderr } = end;
  return replay(codexTranslator(options), lines, ending({ exitCode, signal, stderrTail: stderr }));
}

function toolLine(tool: { kind: string; status: string; exitCode?: number | undefined }): string {
  const exit = tool.exitCode === undefined ? '' : ` ${tool.exitCode}`;
  return `${tool.kind} ${tool.status}${exit}`;
}
