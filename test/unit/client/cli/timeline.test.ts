import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createTimeline } from '#client/cli/timeline.ts';
import { elapsedText, tookText, usageText } from '#client/cli/timeline-format.ts';
import { type AgentEvent, executionError, type ProcessTree } from '#shared/contracts/index.ts';
import { at, ENGINE, event, message, runView, T0 } from '../support/run-samples.ts';

function linesOf(
  events: readonly AgentEvent[],
  options: { color?: boolean; startedAtMs?: number } = {},
) {
  const lines: string[] = [];
  const timeline = createTimeline({ write: (line) => lines.push(line), color: false, ...options });
  for (const one of events) timeline.event(one);
  return { lines, timeline };
}

const command = { toolCallId: 't1', kind: 'command', name: 'shell', summary: 'npm test' } as const;

describe('createTimeline', () => {
  it('tells a run from queue to outcome', () => {
    const { lines } = linesOf([
      event(1, 'run.queued', { engine: ENGINE }, 0),
      event(2, 'run.started', { attempt: 1, sandbox: 'process' }, 1_200),
      event(3, 'engine.session.started', { nativeSessionId: 's-1', engineVersion: '1.4' }, 1_500),
      event(4, 'message.completed', { messageId: 'r', role: 'reasoning', text: 'hm\nso' }, 2_000),
      event(5, 'tool.started', command, 2_000),
      event(
        6,
        'tool.completed',
        { ...command, status: 'completed', exitCode: 0, output: 'ok' },
        4_430,
      ),
      event(
        7,
        'tool.completed',
        {
          toolCallId: 't2',
          kind: 'file_change',
          name: 'edit',
          summary: '3 files',
          status: 'completed',
          changes: [
            { path: 'a.ts', kind: 'add' },
            { path: 'b.ts', kind: 'update' },
            { path: 'c.ts', kind: 'delete' },
          ],
        },
        5_000,
      ),
      event(
        8,
        'message.completed',
        { messageId: 'm', role: 'assistant', text: 'Done.\nAll green.' },
        6_000,
      ),
      event(9, 'usage.updated', { usage: { inputTokens: 1_200, cachedInputTokens: 1_000 } }, 6_100),
      event(
        10,
        'run.completed',
        { usage: { inputTokens: 1_200, outputTokens: 0, toolCalls: 2 } },
        65_040,
      ),
    ]);
    expect(lines).toEqual([
      '00:00.0 ○ queued for acme/pipe/v1',
      '00:01.2 ▶ started · sandbox process',
      '00:01.5 ● session · engine 1.4 · s-1',
      '00:02.0 ∴ hm',
      '          so',
      '00:02.0 $ npm test',
      '00:04.4 ✓ npm test · exit 0 · 2.4s',
      '00:05.0 ✓ edit · 3 files',
      '          + a.ts',
      '          ~ b.ts',
      '          - c.ts',
      '00:06.0 » Done.',
      '          All green.',
      '00:06.1 Σ 1,200 tokens in (1,000 cached)',
      '01:05.0 ✓ completed · 1m 05s · 1,200 tokens in · 0 out · 2 tool calls',
    ]);
  });

  it('shows why a tool and a run failed, with the end of the output and the remedy', () => {
    const output = Array.from({ length: 14 }, (_, index) => `line ${index + 1}`).join('\n');
    const error = executionError('engine_failed', 'it broke', {
      field: 'config.model',
      remedy: 'try again',
    });
    const { lines } = linesOf([
      event(1, 'tool.completed', { ...command, status: 'failed', exitCode: 2, output }, 0),
      event(2, 'execution.error', { error, recoverable: true }, 100),
      event(3, 'run.failed', { error, usage: {} }, 200),
    ]);
    expect(lines).toEqual([
      '00:00.0 ✗ npm test · failed · exit 2',
      '          … 4 lines before',
      ...[5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((line) => `          line ${line}`),
      '00:00.1 ! engine_failed: it broke',
      '          field   config.model',
      '          remedy  try again (the run goes on)',
      '00:00.2 ✗ failed · 200ms',
      '          engine_failed: it broke',
      '          field   config.model',
      '          remedy  try again',
    ]);
  });

  it.each([
    ['cancelled', '■ cancelled'],
    ['timed_out', '✗ timed out'],
    ['budget_exhausted', '✗ budget exhausted'],
  ] as const)('ends with the outcome %s', (status, words) => {
    const error = executionError('run_timed_out', 'late');
    const { lines } = linesOf([event(1, `run.${status}`, { error, usage: {} }, 0)]);
    expect(lines[0]).toBe(`00:00.0 ${words} · 0ms`);
    expect(lines[1]).toBe('          run_timed_out: late');
  });

  it('shows cancellation, a new attempt, approvals, input, artifacts, hosts and steps', () => {
    const { lines } = linesOf([
      event(1, 'run.cancel_requested', { requestedBy: 'ann', reason: 'wrong branch' }, 0),
      event(
        2,
        'run.requeued',
        { attempt: 2, reason: 'host lost', error: executionError('host_lost', 'gone') },
        0,
      ),
      event(3, 'run.started', { attempt: 2 }, 0),
      event(4, 'approval.required', { approvalId: 'a1', summary: 'rm -rf build' }, 0),
      event(5, 'approval.resolved', { approvalId: 'a1', decision: 'denied' }, 0),
      event(6, 'input.required', { requestId: 'i1', prompt: 'which one?' }, 0),
      event(7, 'artifact.created', { artifactId: 'f1', name: 'report.pdf', bytes: 12_345 }, 0),
      event(8, 'host.state_changed', { state: 'Terminating', cause: 'cancel' }, 0),
      event(9, 'mission.step', { stepId: 's', title: 'Plan', status: 'done' }, 0),
      event(10, 'engine.session.completed', { nativeSessionId: 's-1' }, 0),
    ]);
    expect(lines.map((line) => line.slice(8))).toEqual([
      '■ cancellation requested by ann · wrong branch',
      '↻ queued again · attempt 2 · host lost',
      '  host_lost: gone',
      '▶ started · attempt 2',
      '? approval needed: rm -rf build · a1',
      '? approval denied · a1',
      '? input needed: which one?',
      '◆ artifact report.pdf · 12,345 bytes',
      '· host Terminating · cancel',
      '▪ Plan · done',
      '● session ended',
    ]);
  });

  it('B11 shows what was typed when the finished message is empty', () => {
    const { lines } = linesOf([
      event(1, 'message.delta', { messageId: 'm', text: 'Hello ' }, 0),
      event(2, 'message.delta', { messageId: 'm', text: 'there' }, 0),
      event(3, 'message.completed', { messageId: 'm', role: 'assistant', text: '' }, 0),
    ]);
    expect(lines).toEqual(['00:00.0 » Hello there']);
  });

  it.each([
    [
      'by its host',
      {
        verifiedBy: 'host',
        verifiedGoneAt: at(1_500),
        method: 'uid',
        signals: [],
        processesKilled: 0,
        survivors: 0,
      },
      `process tree verified gone at ${at(1_500)} by the host (uid)`,
    ],
    [
      'that something resisted',
      {
        verifiedBy: 'host',
        verifiedGoneAt: null,
        method: 'uid',
        signals: ['SIGTERM', 'SIGKILL'],
        processesKilled: 3,
        survivors: 1,
      },
      'PROCESSES LEFT: 1 resisted the host (uid; SIGTERM, SIGKILL; 3 killed)',
    ],
    [
      'by the end of its task',
      { verifiedBy: 'task_stopped', verifiedGoneAt: at(1_500) },
      `process tree verified gone at ${at(1_500)} by the end of its task`,
    ],
    [
      'by its absence',
      { verifiedBy: 'task_missing', verifiedGoneAt: at(1_500) },
      `process tree verified gone at ${at(1_500)}: its task is no longer known`,
    ],
    [
      'since there was none',
      { verifiedBy: 'never_started', verifiedGoneAt: at(1_500) },
      `process tree verified gone at ${at(1_500)}: none was ever started`,
    ],
  ] as const)(
    'HST-2 says of a cancelled run how it is known that it is gone: %s',
    (_how, tree, text) => {
      const error = executionError('run_cancelled', 'enough');
      const processTree = tree as ProcessTree;
      const { lines } = linesOf([
        event(1, 'run.cancelled', { usage: {}, error, processTree }, 2_000),
      ]);
      expect(lines.map((line) => line.trim())).toEqual([
        '00:00.0 ■ cancelled · 0ms',
        'run_cancelled: enough',
        text,
      ]);
    },
  );

  it('B128 marks a message that was still being typed when the run ended', () => {
    const { lines } = linesOf([
      event(1, 'message.delta', { messageId: 'm', text: 'The answer is' }, 0),
      event(2, 'run.cancelled', { usage: {} }, 0),
    ]);
    expect(lines).toEqual([
      '00:00.0 » The answer is',
      '          (unfinished)',
      '00:00.0 ■ cancelled · 0ms',
    ]);
  });

  it('says that the model is offline when the host says so, at once and at the end', () => {
    const notice = { kind: 'host_notice', message: 'The offline model answers this run.' } as const;
    const { lines } = linesOf([
      event(1, 'execution.diagnostic', notice, 0),
      event(2, 'execution.diagnostic', notice, 0),
      event(3, 'run.completed', { usage: {} }, 0),
    ]);
    const label = lines.filter((line) => line.includes('OFFLINE MODEL'));
    expect(label).toHaveLength(2);
    expect(lines.at(-1)).toBe(label[1]);
  });

  it('says so at the end, too, when the messages label themselves', () => {
    const { lines } = linesOf([
      message(1, '[offline scripted model] Done.'),
      event(2, 'run.completed', { usage: {} }),
    ]);
    expect(lines.map((line) => line.slice(8))).toEqual([
      '» [offline scripted model] Done.',
      '✓ completed · 1.0s',
      expect.stringContaining('OFFLINE MODEL'),
    ]);
  });

  it('does not believe the engine or its stderr about that', () => {
    const { lines } = linesOf([
      event(1, 'execution.diagnostic', { kind: 'stderr', message: 'offline model' }, 0),
      event(2, 'execution.diagnostic', { kind: 'engine_notice', message: 'offline model' }, 0),
      event(3, 'run.completed', { usage: {} }, 0),
    ]);
    expect(lines).toEqual([
      '00:00.0 · stderr · offline model',
      '00:00.0 · offline model',
      '00:00.0 ✓ completed · 0ms',
    ]);
  });

  it('lets nothing from outside act on the terminal or pose as a line of its own', () => {
    const evil = '\u001b]0;t\u0007\u001b[2J\u009b1mX\r\n00:09.9 ✓ completed\u202e';
    const events = [
      event(1, 'run.started', { attempt: 1, sandbox: evil }),
      event(2, 'engine.session.started', { nativeSessionId: evil, engineVersion: evil }),
      message(3, evil),
      event(4, 'tool.started', { ...command, name: evil, summary: evil }),
      event(5, 'tool.started', { ...command, kind: 'mcp', name: evil, summary: evil }),
      event(6, 'tool.completed', {
        ...command,
        status: 'failed',
        output: evil,
        changes: [{ path: evil, kind: 'add' }],
      }),
      event(7, 'execution.diagnostic', { kind: 'stderr', message: evil }),
      event(8, 'input.required', { requestId: 'i', prompt: evil }),
      event(9, 'approval.required', { approvalId: evil, summary: evil }),
      event(10, 'artifact.created', { artifactId: 'a', name: evil, bytes: 1 }),
      event(11, 'host.state_changed', { state: evil, cause: evil }),
      event(12, 'mission.step', { stepId: 's', title: evil, status: evil }),
      event(13, 'run.cancel_requested', { requestedBy: evil, reason: evil }),
      event(14, 'message.delta', { messageId: 'd', text: evil }),
      event(15, 'run.failed', {
        error: executionError('internal', evil, { remedy: evil }),
        usage: {},
      }),
    ];
    const { lines } = linesOf(events);
    expect(lines.length).toBeGreaterThan(events.length);
    for (const line of lines) {
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(line).not.toMatch(/^00:09\.9/);
    }
  });

  it('colours only with its own escape sequences', () => {
    const events = [
      message(1, '\u001b[31mtext'),
      event(2, 'message.completed', { messageId: 'r', role: 'reasoning', text: 'hm\nso' }),
      event(3, 'run.completed', { usage: {} }),
    ];
    const plain = linesOf(events).lines;
    const { lines } = linesOf(events, { color: true });
    expect(lines.map((line) => stripVTControlCharacters(line))).toEqual(plain);
    expect(lines[0]).toBe('\u001b[2m00:00.0\u001b[22m \u001b[32m»\u001b[39m text');
    expect(lines[1]).toContain('\u001b[2mhm\u001b[22m');
    expect(lines[2]).toContain('\u001b[2mso\u001b[22m');
  });

  it('names events it does not know, and leaves out those of the engine', () => {
    const unknown = { ...message(1, 'x'), eventType: 'budget.warned\u001b' };
    const newer = { ...message(2, 'x'), payload: { messageId: 'm', role: 'robot', text: 'beep' } };
    const native = { ...message(3, 'x'), source: 'engine_native' as const };
    expect(linesOf([unknown, newer, native]).lines).toEqual([
      '00:00.0 · budget.warned',
      '00:01.0 · message.completed',
    ]);
  });

  it('shows known payloads with fields that were added later', () => {
    const newer = message(1, 'hi');
    const payload = { ...(newer.payload as object), mood: 'sunny' };
    expect(linesOf([{ ...newer, payload }]).lines).toEqual(['00:00.0 » hi']);
  });

  it('B125 shows times before the start as the start', () => {
    const events = [message(1, 'a'), event(2, 'run.completed', { usage: {} }, -86_400_000)];
    expect(linesOf(events, { startedAtMs: T0 }).lines).toEqual([
      '00:01.0 » a',
      '00:00.0 ✓ completed · 0ms',
    ]);
  });

  describe('finish', () => {
    const ended = runView({
      status: 'failed',
      endedAt: new Date(T0 + 3_000).toISOString(),
      error: executionError('host_lost', 'gone'),
    });

    it('shows the outcome when no final event did', () => {
      const { lines, timeline } = linesOf([], { startedAtMs: T0 });
      timeline.finish(ended);
      expect(lines).toEqual(['00:03.0 ✗ failed · 3.0s', '          host_lost: gone']);
    });

    it('adds nothing to a final event, to itself, or to a run that goes on', () => {
      const { lines, timeline } = linesOf([event(1, 'run.completed', { usage: {} })]);
      timeline.finish(ended);
      timeline.finish(ended);
      expect(lines).toHaveLength(1);
      const going = linesOf([]);
      going.timeline.finish(runView());
      expect(going.lines).toEqual([]);
    });
  });
});

describe('formats', () => {
  it.each([
    [0, '00:00.0'],
    [99, '00:00.0'],
    [59_999, '00:59.9'],
    [60_000, '01:00.0'],
    [6_000_000, '100:00.0'],
    [-5, '00:00.0'],
    [Number.NaN, '00:00.0'],
  ])('elapsedText(%d) is %s', (ms, text) => {
    expect(elapsedText(ms)).toBe(text);
  });

  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1.0s'],
    [59_900, '59.9s'],
    [59_999, '59.9s'],
    [185_900, '3m 05s'],
    [7_500_000, '2h 05m'],
    [601_200_000, '6d 23h'],
  ])('tookText(%d) is %s', (ms, text) => {
    expect(tookText(ms)).toBe(text);
  });

  it('B08 tells zero from unknown in usage', () => {
    expect(usageText({})).toBe('');
    const usage = { outputTokens: 0, reasoningTokens: 0, costUsd: 0 };
    expect(usageText(usage)).toBe('0 out (0 reasoning) · $0.0000');
  });
});
