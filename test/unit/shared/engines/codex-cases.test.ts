import { describe, expect, it } from 'vitest';
import { RecordFramer } from '#shared/process/index.ts';
import { agentMessage, codexTranslator, command, DONE, THREAD, TURN } from './codex-translator.ts';
import { AT, ending, payloadsOf, record, replay } from './support.ts';

/** Bytes through the host's framer, as they come from the process. */
function replayBytes(chunks: readonly Buffer[], end = ending()) {
  const framer = new RecordFramer(1024 * 1024);
  const framed = [...chunks.flatMap((chunk) => framer.push(chunk)), ...framer.end()];
  const records = framed.map(({ text, truncatedBytes, invalidUtf8, unterminated }) =>
    record(text, { truncatedBytes, invalidUtf8, unterminated }),
  );
  return replay(codexTranslator(), records, end);
}

const line = (value: object) => `${JSON.stringify(value)}\n`;

describe('real failure cases of codex exec', () => {
  it('B01 separators of Unicode inside a text end no record', () => {
    const text = 'a\u2028b\u2029c\u0085d';
    const bytes = Buffer.from([THREAD, agentMessage('i1', text), DONE].map(line).join(''));
    const { events, result } = replayBytes([bytes]);
    expect(payloadsOf(events, 'message.completed').map((message) => message.text)).toEqual([text]);
    expect(payloadsOf(events, 'execution.diagnostic')).toEqual([]);
    expect(result.output).toBe(text);
  });

  it('B02 notices of retries are no ending, whatever they say', () => {
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      TURN,
      { type: 'error', message: 'Reconnecting... 2/5 (timeout waiting for child)' },
      { type: 'error', message: 'transport lost, trying again' },
      agentMessage('i1', 'OK'),
      DONE,
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'OK' });
    expect(payloadsOf(events, 'execution.diagnostic').map(({ kind }) => kind)).toEqual([
      'engine_notice',
      'engine_notice',
    ]);
  });

  it('B04 exit code 0 does not make a failed turn a success, and its text is no result', () => {
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      agentMessage('i1', 'part'),
      { type: 'turn.failed', error: { message: 'model at capacity' } },
    ]);
    expect(result).toMatchObject({
      status: 'failed',
      output: null,
      error: { code: 'model_unavailable', message: 'model at capacity' },
    });
    expect(payloadsOf(events, 'message.completed')).toHaveLength(1);
  });

  it('B05 a completed turn stays completed when the exit goes wrong, which is noted without colours', () => {
    const { events, result } = replay(
      codexTranslator(),
      [THREAD, agentMessage('i1', 'OK'), DONE],
      ending({ exitCode: 1, stderrTail: '\u001b[31mTLS handshake failed\u001b[0m\n' }),
    );
    expect(result).toMatchObject({
      status: 'completed',
      output: 'OK',
      metadata: { ending: { rule: 'native_success', exitCode: 1 } },
    });
    expect(payloadsOf(events, 'execution.diagnostic')).toEqual([
      {
        kind: 'protocol_notice',
        message: 'Codex ended with exit code 1 after it had completed the turn',
      },
      { kind: 'stderr', message: 'end of stderr', raw: 'TLS handshake failed' },
    ]);
  });

  it.each([
    [
      'the second run of a thread',
      { input_tokens: 1800, cached_input_tokens: 1400, output_tokens: 125 },
      { inputTokens: 800, cachedInputTokens: 700, outputTokens: 65, toolCalls: 0 },
    ],
    [
      'a counter that began again',
      { input_tokens: 500, cached_input_tokens: 0, output_tokens: 10 },
      { toolCalls: 0 },
    ],
  ])('B07 usage of %s is never a total and never negative', (_name, usage, expected) => {
    const before = { input_tokens: 1000, cached_input_tokens: 700, output_tokens: 60 };
    const translator = codexTranslator({ baseline: before });
    const { result } = replay(translator, [THREAD, { type: 'turn.completed', usage }]);
    expect(result.usage).toEqual(expected);
  });

  it('B08 of two totals the last counts; zero stays zero and what is missing stays missing', () => {
    const second = { input_tokens: 30, cached_input_tokens: 0, output_tokens: 15 };
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      DONE,
      command('completed', { id: 'i2', command: 'true' }),
      { type: 'turn.completed', usage: second },
    ]);
    expect(result.status).toBe('completed');
    expect(result.usage).toEqual({
      inputTokens: 30,
      cachedInputTokens: 0,
      outputTokens: 15,
      toolCalls: 1,
    });
    expect(payloadsOf(events, 'usage.updated')).toHaveLength(2);
  });

  it('B10 stderr is never read as protocol, and noise on stdout is kept as noise', () => {
    const { events, result } = replay(
      codexTranslator(),
      ['Reading prompt from stdin...', THREAD, DONE],
      ending({ stderrTail: '{"type":"turn.failed","error":{"message":"from an old log"}}' }),
    );
    expect(result.status).toBe('completed');
    expect(payloadsOf(events, 'execution.diagnostic').map(({ kind, raw }) => [kind, raw])).toEqual([
      ['undecodable_output', 'Reading prompt from stdin...'],
      ['stderr', '{"type":"turn.failed","error":{"message":"from an old log"}}'],
    ]);
  });

  it('B11 an empty last output does not erase what came before', () => {
    const { events } = replay(codexTranslator(), [
      THREAD,
      command('started'),
      command('updated', { aggregated_output: 'hello\n' }),
      command('completed', { aggregated_output: '' }),
      DONE,
    ]);
    expect(payloadsOf(events, 'tool.completed')).toMatchObject([
      { output: 'hello\n', status: 'completed', exitCode: 0 },
    ]);
  });

  describe('B13 the last record has no newline', () => {
    const head = Buffer.from(line(THREAD));
    it('and is cut: the run is incomplete, and says so', () => {
      const { events, result } = replayBytes([head, Buffer.from('{"type":"turn.comp')]);
      expect(result).toMatchObject({ status: 'failed', error: { code: 'engine_crashed' } });
      expect(payloadsOf(events, 'execution.diagnostic')).toMatchObject([
        {
          kind: 'undecodable_output',
          message: 'truncated tail: not JSON',
          raw: '{"type":"turn.comp',
        },
      ]);
    });
    it('and is whole: it counts', () => {
      const { result } = replayBytes([head, Buffer.from(JSON.stringify(DONE))]);
      expect(result.status).toBe('completed');
    });
    it('and ends inside a character', () => {
      const tail = Buffer.concat([
        Buffer.from(
          '{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"caf',
        ),
        Buffer.from([0xc3]),
      ]);
      const { events, result } = replayBytes([head, tail]);
      expect(result.status).toBe('failed');
      expect(payloadsOf(events, 'execution.diagnostic')[0]?.message).toBe(
        'truncated tail: not UTF-8',
      );
    });
  });

  it('B14 an item after the end of the turn is stored and reopens nothing', () => {
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      command('started'),
      agentMessage('i2', 'OK'),
      DONE,
      command('completed', { exit_code: 1, status: 'failed' }),
    ]);
    expect(result).toMatchObject({ status: 'completed', output: 'OK' });
    expect(payloadsOf(events, 'tool.completed')).toMatchObject([{ status: 'failed', exitCode: 1 }]);
  });

  it('B17 of several endings the last one counts', () => {
    const failed = { type: 'turn.failed', error: { message: 'unexpected status 503 x' } };
    expect(replay(codexTranslator(), [THREAD, failed, DONE]).result.status).toBe('completed');
    expect(replay(codexTranslator(), [THREAD, DONE, failed]).result.status).toBe('failed');
  });

  it('B20 endings without their fields are endings', () => {
    const failed = replay(codexTranslator(), [THREAD, { type: 'turn.failed' }]).result;
    expect(failed.error).toMatchObject({
      code: 'engine_failed',
      message: 'the turn failed without a message',
    });
    const completed = replay(codexTranslator(), [THREAD, { type: 'turn.completed' }]).result;
    expect(completed).toMatchObject({ status: 'completed', output: null, usage: { toolCalls: 0 } });
    expect(completed.usage).not.toHaveProperty('inputTokens');
  });

  it('B22 an empty last message does not replace the answer before it', () => {
    const records = [THREAD, agentMessage('i1', 'Hello.'), agentMessage('i2', ''), DONE];
    expect(replay(codexTranslator(), records).result.output).toBe('Hello.');
  });

  it('B26 completed before started, or without it, is one completed tool', () => {
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      command('completed'),
      command('started'),
      DONE,
    ]);
    expect(payloadsOf(events, 'tool.started')).toEqual([]);
    expect(payloadsOf(events, 'tool.completed')).toMatchObject([{ status: 'completed' }]);
    expect(result.usage.toolCalls).toBe(1);
  });

  it.each([
    ['cancelled', 'cancelled', 'run_cancelled'],
    ['timed_out', 'timed_out', 'run_timed_out'],
  ] as const)(
    'B31 after the host ended it as %s a success of the engine is none',
    (cause, status, code) => {
      const { result } = replay(
        codexTranslator(),
        [THREAD, agentMessage('i1', 'finished after all'), DONE],
        ending({ cause }),
      );
      expect(result).toMatchObject({
        status,
        output: null,
        error: { code },
        metadata: { ending: { nativeVerdict: 'completed' } },
      });
    },
  );

  it('B152 a thread and then silence is no success', () => {
    const { result } = replay(
      codexTranslator(),
      [THREAD],
      ending({ exitCode: 0, stderrTail: 'refresh_token_reused' }),
    );
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'engine_crashed', sideEffects: 'none' },
    });
    expect(result.error?.message).toContain('refresh_token_reused');
  });

  it('B152 nothing at all with exit code 0 is no success', () => {
    expect(replay(codexTranslator(), []).result.error?.code).toBe('engine_crashed');
  });
});

describe('TRM-8 output that cannot be read', () => {
  it('is kept, bounded, and does not end the run', () => {
    const { events, result } = replay(codexTranslator(), [
      THREAD,
      record('x'.repeat(10_000), { truncatedBytes: 77 }),
      '[1,2]',
      'null',
      '{"no":"type"}',
      DONE,
    ]);
    expect(result.status).toBe('completed');
    const diagnostics = payloadsOf(events, 'execution.diagnostic');
    expect(diagnostics.map(({ message }) => message)).toEqual([
      'undecodable output: not JSON',
      'undecodable output: not an object with a type',
      'undecodable output: not an object with a type',
      'undecodable output: not an object with a type',
    ]);
    expect(diagnostics[0]).toMatchObject({
      raw: 'x'.repeat(4096),
      truncatedBytes: 10_000 - 4096 + 77,
    });
  });

  it('is counted after the first fifty', () => {
    const { events } = replay(codexTranslator(), [THREAD, ...Array(70).fill('noise'), DONE]);
    expect(payloadsOf(events, 'execution.diagnostic')).toHaveLength(50);
    expect(payloadsOf(events, 'events.lost')).toEqual([
      { reason: 'undecodable', count: 20, bytes: 20 * 'noise'.length },
    ]);
  });

  it('nested without end is refused instead of walked', () => {
    const deep = `{"type":"x","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const { events, result } = replay(codexTranslator(), [THREAD, deep, DONE]);
    expect(result.status).toBe('completed');
    expect(payloadsOf(events, 'execution.diagnostic')[0]?.message).toContain('nested too deeply');
  });

  it('of a known type in another shape is passed on with a notice', () => {
    const odd = { type: 'item.completed', item: { id: 7, type: 'agent_message' } };
    const { events, result } = replay(codexTranslator(), [THREAD, odd, DONE]);
    expect(result.status).toBe('completed');
    expect(events).toContainEqual({
      eventType: 'codex.item.completed',
      source: 'engine_native',
      family: 'execution',
      timestamp: AT,
      engineSessionId: 'th-1',
      payload: odd,
    });
    expect(payloadsOf(events, 'execution.diagnostic')[0]?.kind).toBe('protocol_notice');
  });

  it('of an unknown type or item is passed on as it is', () => {
    const news = [
      { type: 'turn.paused', reason: 'new' },
      { type: 'item.completed', item: { id: 'i9', type: 'todo_list', items: [] } },
    ];
    const { events, result } = replay(codexTranslator(), [THREAD, ...news, DONE]);
    expect(result.status).toBe('completed');
    expect(payloadsOf(events, 'execution.diagnostic')).toEqual([]);
    const payloads = events
      .filter(({ source }) => source === 'engine_native')
      .map((e) => e.payload);
    expect(payloads).toEqual([THREAD, ...news, DONE]);
  });
});

describe('limits of a run', () => {
  it('CAP-3 a command in a run without terminal_execution stops the engine, and its success is worth nothing', () => {
    const tools = { commands: false, fileChanges: true, anyTool: true };
    const { result, stops } = replay(
      codexTranslator({ tools }),
      [THREAD, command('started'), command('completed'), DONE],
      ending({ cause: 'capability_violation', exitCode: null, signal: 'SIGKILL' }),
    );
    expect(stops[0]).toBe('capability_violation');
    expect(result).toMatchObject({
      status: 'failed',
      output: null,
      error: { code: 'capability_violation', class: 'PermissionDenied', sideEffects: 'maybe' },
    });
  });

  it('CAP-3 holds when the engine ended before it could be stopped', () => {
    const tools = { commands: false, fileChanges: false, anyTool: true };
    const { result } = replay(codexTranslator({ tools }), [THREAD, command('completed'), DONE]);
    expect(result.error?.code).toBe('capability_violation');
  });

  it.each([
    ['completed', ['capability_violation']],
    ['failed', []],
  ] as const)('CAP-3 a file change that %s in a run without file_operations', (status, stops) => {
    const tools = { commands: true, fileChanges: false, anyTool: true };
    const change = {
      type: 'item.completed',
      item: {
        id: 'i1',
        type: 'file_change',
        changes: [{ path: '/run/workdir/a', kind: 'add' }],
        status,
      },
    };
    expect(replay(codexTranslator({ tools }), [THREAD, change, DONE]).stops).toEqual(stops);
  });

  it('CAP-3 no tool of any kind runs without tool_calling', () => {
    const tools = { commands: false, fileChanges: false, anyTool: false };
    const search = { type: 'item.started', item: { id: 'i1', type: 'web_search', query: 'x' } };
    expect(replay(codexTranslator({ tools }), [THREAD, search]).stops).toEqual([
      'capability_violation',
    ]);
  });

  it('KRN-6 one tool call too many stops the engine', () => {
    const calls = ['a', 'b', 'c'].map((id) => command('completed', { id }));
    const { result, stops } = replay(
      codexTranslator({ budget: { toolCalls: 2 } }),
      [THREAD, ...calls],
      ending({ cause: 'budget_exhausted', exitCode: 1 }),
    );
    expect(stops).toEqual(['budget_exhausted']);
    expect(result).toMatchObject({
      status: 'budget_exhausted',
      error: { code: 'budget_exhausted', details: { budget: 'toolCalls', limit: 2, used: 3 } },
    });
  });

  it('KRN-6 tokens over the budget are found when the turn reports them; the work is kept', () => {
    const { result } = replay(codexTranslator({ budget: { totalTokens: 14 } }), [
      THREAD,
      agentMessage('i1', 'done'),
      DONE,
    ]);
    expect(result).toMatchObject({
      status: 'budget_exhausted',
      output: 'done',
      error: { details: { budget: 'totalTokens', limit: 14, used: 15 } },
    });
  });

  it('native events are left out of a run that does not have them', () => {
    const { events } = replay(codexTranslator({ nativeEvents: false }), [THREAD, DONE]);
    expect(events.filter(({ source }) => source === 'engine_native')).toEqual([]);
  });

  it('B148 the timeline shows the command, not the shell that wraps it', () => {
    const { events } = replay(codexTranslator(), [
      THREAD,
      command('started', { command: `/usr/bin/bash -lc 'curl x'"'"'y'` }),
    ]);
    expect(payloadsOf(events, 'tool.started')).toMatchObject([
      { kind: 'command', name: 'shell', summary: "curl x'y", input: { command: "curl x'y" } },
    ]);
  });

  it('B167 a long output is cut by bytes, not inside a character', () => {
    const { events } = replay(codexTranslator(), [
      THREAD,
      command('completed', { aggregated_output: '€'.repeat(30_000) }),
      DONE,
    ]);
    const [tool] = payloadsOf(events, 'tool.completed');
    expect(Buffer.byteLength(tool?.output ?? '')).toBe(65_535);
    expect(tool?.truncatedBytes).toBe(90_000 - 65_535);
  });

  it('a second attempt does not reuse the ids of the first', () => {
    const { events } = replay(codexTranslator({ attempt: 2 }), [
      THREAD,
      command('completed'),
      DONE,
    ]);
    expect(payloadsOf(events, 'tool.completed')[0]?.toolCallId).toBe('item_1@2');
  });
});
