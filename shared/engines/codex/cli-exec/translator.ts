import {
  type ExecutionRequest,
  type ExecutionResult,
  type NewEvent,
  PlatformError,
  type Usage,
} from '#shared/contracts/index.ts';
import { boundText, MAX_EVENT_TEXT_BYTES } from '../../bounds.ts';
import { buildResult } from '../../build-result.ts';
import { decideOutcome, describeExit, type NativeVerdict } from '../../ending-rules.ts';
import type {
  EngineEnding,
  EngineRecord,
  EngineTranslator,
  Translation,
} from '../../engine-adapter.ts';
import { EventMaker } from '../../event-maker.ts';
import { budgetOverrun } from '../../run-budget.ts';
import { ToolCalls } from '../../tool-calls.ts';
import { toolCallOf, toolResultOf } from './map-item.ts';
import { classifyFailure } from './model-failure.ts';
import { RepeatedMessages } from './repeated-messages.ts';
import { type UsageBaseline, usageSince } from './thread-usage.ts';
import type { ToolAccess } from './tool-access.ts';
import {
  type CodexEvent,
  type CodexItem,
  type CodexToolItem,
  decodeRecord,
  type ItemPhase,
  itemPhase,
  type UsageTotals,
} from './wire.ts';

export interface TranslatorOptions {
  readonly engineVersion: string;
  readonly workdir: string;
  readonly tools: ToolAccess;
  readonly nativeEvents: boolean;
  readonly attempt: number;
  readonly budget: ExecutionRequest['budget'];
  /** The thread the run was asked to go on with. */
  readonly resumeThreadId: string | undefined;
  readonly baseline: UsageBaseline;
  /** What is wrong with a final message; `undefined` when nothing is. */
  readonly checkOutput: (output: string | null) => string | undefined;
}

interface Conclusion {
  readonly events: readonly NewEvent[];
  readonly result: ExecutionResult;
}

interface Handled {
  readonly events: NewEvent[];
  readonly stop?: PlatformError;
}

function stopFor(stop: PlatformError | undefined): { readonly stop?: PlatformError } {
  return stop === undefined ? {} : { stop };
}

/** One `codex exec --json` process: its JSONL in, events and one result out. */
export class CodexExecTranslator implements EngineTranslator {
  readonly #options: TranslatorOptions;
  readonly #events: EventMaker;
  readonly #tools = new ToolCalls();
  readonly #messages = new RepeatedMessages();
  #threadId: string | undefined;
  #output: string | null = null;
  #verdict: NativeVerdict | undefined;
  #totals: UsageTotals | undefined;
  #tokens: Usage = {};
  #stoppedFor: PlatformError | undefined;
  #spoke = false;
  /** A tool was seen, or output that may have announced one could not be read. */
  #mayHaveActed = false;

  constructor(options: TranslatorOptions) {
    this.#options = options;
    this.#events = new EventMaker({ namespace: 'codex', native: options.nativeEvents });
  }

  onRecord(record: EngineRecord): Translation {
    this.#spoke = true;
    const decoded = decodeRecord(record.text);
    switch (decoded.kind) {
      case 'undecodable':
        // A cut record can have been anything.
        this.#mayHaveActed ||= record.truncatedBytes > 0 || record.unterminated;
        return { events: this.#events.undecodable(record, decoded.reason) };
      case 'unknown':
        return { events: this.#events.native(decoded.type, decoded.native, record) };
      case 'malformed': {
        this.#mayHaveActed ||= decoded.type.startsWith('item.');
        const notice = `${decoded.type} in an unknown shape: ${decoded.reason}`;
        return {
          events: [
            ...this.#events.native(decoded.type, decoded.native, record),
            this.#events.notice('protocol_notice', notice, record.at),
          ],
        };
      }
      case 'event': {
        // First, so that the record that opens the thread carries it too.
        if (decoded.event.type === 'thread.started') this.#openThread(decoded.event.thread_id);
        const native = this.#events.native(decoded.type, decoded.native, record);
        const { events, stop } = this.#onEvent(decoded.event, record.at);
        return this.#translation([...native, ...events], stop);
      }
    }
  }

  conclude(ending: EngineEnding): Conclusion {
    const aborted = this.#tools
      .abortOpen()
      .map((payload) => this.#events.platform('tool.completed', payload, ending.at));
    const outcome = decideOutcome({
      engineName: 'Codex',
      ending,
      stoppedFor: this.#stoppedFor,
      verdict: this.#checkedVerdict(),
      spoke: this.#spoke,
      sideEffects: this.#mayHaveActed ? 'maybe' : 'none',
    });
    const oddExit = outcome.status === 'completed' && ending.exitCode !== 0;
    const anomaly = `Codex ${describeExit(ending)} after it had completed the turn`;
    return {
      events: [
        ...aborted,
        ...(oddExit ? [this.#events.notice('protocol_notice', anomaly, ending.at)] : []),
        ...this.#events.closing(ending),
      ],
      result: buildResult({
        outcome,
        output: this.#output,
        usage: this.#usage(),
        metadata: this.#metadata(ending, outcome.rule),
      }),
    };
  }

  #onEvent(event: CodexEvent, at: string): Handled {
    switch (event.type) {
      case 'thread.started':
        return this.#onThread(event.thread_id, at);
      case 'turn.started':
        return { events: [] };
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        return this.#onItem(event.item, itemPhase(event.type), at);
      case 'turn.completed':
        this.#verdict = { kind: 'completed' };
        this.#messages.onActivity();
        return this.#onUsage(event.usage ?? undefined, at);
      case 'turn.failed':
        this.#verdict = classifyFailure(event.error?.message);
        return { events: [] };
      case 'error': {
        // Never terminal: the same line is printed for retries that succeed (B02).
        this.#messages.onRetry();
        const message = event.message ?? 'an error without a message';
        return { events: [this.#events.notice('engine_notice', message, at)] };
      }
    }
  }

  #openThread(threadId: string): void {
    if (this.#threadId !== undefined) return;
    this.#threadId = threadId;
    this.#events.openSession(threadId);
  }

  #onThread(threadId: string, at: string): Handled {
    if (threadId !== this.#threadId) {
      const notice = 'a second thread was started in the same run';
      return { events: [this.#events.notice('protocol_notice', notice, at)] };
    }
    const { engineVersion, resumeThreadId } = this.#options;
    const events = [
      this.#events.platform(
        'engine.session.started',
        { nativeSessionId: threadId, engineVersion },
        at,
      ),
    ];
    // Asked for a thread it does not find under that name, Codex may begin a new one and say nothing.
    const other = resumeThreadId !== undefined && resumeThreadId !== threadId;
    return other
      ? {
          events,
          stop: new PlatformError(
            'protocol_violation',
            'Codex opened another thread than the one to resume',
            {
              details: { wanted: resumeThreadId, got: threadId },
            },
          ),
        }
      : { events };
  }

  #onItem(item: CodexItem, phase: ItemPhase, at: string): Handled {
    switch (item.type) {
      case 'agent_message':
      case 'reasoning':
        return { events: phase === 'completed' ? this.#onMessage(item, at) : [] };
      case 'error':
        return {
          events:
            phase === 'completed' ? [this.#events.notice('engine_notice', item.message, at)] : [],
        };
      default:
        return this.#onTool(item, phase, at);
    }
  }

  #onMessage(
    item: Extract<CodexItem, { type: 'agent_message' | 'reasoning' }>,
    at: string,
  ): NewEvent[] {
    const isAnswer = item.type === 'agent_message';
    if (isAnswer && item.text !== '') this.#output = item.text;
    if (this.#messages.isRepeat(item)) return [];
    const { text, truncatedBytes } = boundText(item.text, MAX_EVENT_TEXT_BYTES);
    return [
      this.#events.platform(
        'message.completed',
        {
          messageId: this.#scoped(item.id),
          role: isAnswer ? 'assistant' : 'reasoning',
          text,
          ...(truncatedBytes === undefined ? {} : { truncatedBytes }),
        },
        at,
      ),
    ];
  }

  #onTool(item: CodexToolItem, phase: ItemPhase, at: string): Handled {
    this.#mayHaveActed = true;
    this.#messages.onActivity();
    const call = { ...toolCallOf(item, this.#options.workdir), id: this.#scoped(item.id) };
    const events: NewEvent[] = [];
    if (phase === 'updated' && item.type === 'command_execution') {
      this.#tools.progress(call.id, item.aggregated_output ?? '');
    } else if (phase === 'started') {
      const started = this.#tools.start(call);
      if (started) events.push(this.#events.platform('tool.started', started, at));
    } else if (phase === 'completed') {
      const completed = this.#tools.complete(call, toolResultOf(item, this.#options.workdir));
      if (completed) events.push(this.#events.platform('tool.completed', completed, at));
    }
    const stop = this.#forbidden(item) ?? budgetOverrun(this.#options.budget, this.#usage());
    return { events, ...stopFor(stop) };
  }

  /** CAP-3: what this item shows was not to happen in this run. */
  #forbidden(item: CodexToolItem): PlatformError | undefined {
    const { tools } = this.#options;
    const refused = 'status' in item && item.status === 'declined';
    const allowed = {
      command_execution: tools.commands,
      // A patch that failed changed nothing.
      file_change: tools.fileChanges || ('status' in item && item.status === 'failed'),
      mcp_tool_call: tools.anyTool,
      web_search: tools.anyTool,
      collab_tool_call: tools.anyTool,
    }[item.type];
    if (allowed || refused) return undefined;
    return new PlatformError(
      'capability_violation',
      `Codex did what this run may not do: ${item.type}`,
      {
        sideEffects: 'maybe',
        details: { item: item.type },
      },
    );
  }

  /** Codex reports tokens when a turn ends and not before: a budget of tokens can only be found overrun. */
  #onUsage(totals: UsageTotals | undefined, at: string): Handled {
    if (totals === undefined) return { events: [] };
    this.#totals = totals;
    const reading = usageSince(this.#options.baseline, totals);
    if (reading.kind === 'unknown') {
      this.#tokens = {};
      const notice = `token usage is unknown: ${reading.reason}`;
      return { events: [this.#events.notice('protocol_notice', notice, at)] };
    }
    this.#tokens = reading.usage;
    const events = [this.#events.platform('usage.updated', { usage: this.#usage() }, at)];
    return { events, ...stopFor(budgetOverrun(this.#options.budget, this.#usage())) };
  }

  #translation(events: NewEvent[], stop: PlatformError | undefined): Translation {
    if (stop === undefined) return { events };
    this.#stoppedFor ??= stop;
    return stop.code === 'budget_exhausted'
      ? { events, budgetExhausted: stop }
      : { events, violation: stop };
  }

  #checkedVerdict(): NativeVerdict | undefined {
    if (this.#verdict?.kind !== 'completed') return this.#verdict;
    const fault = this.#options.checkOutput(this.#output);
    return fault === undefined
      ? this.#verdict
      : {
          kind: 'failed',
          code: 'engine_failed',
          message: `the final message does not fit outputSchema: ${fault}`,
        };
  }

  #usage(): Usage {
    return { ...this.#tokens, ...(this.#spoke ? { toolCalls: this.#tools.count } : {}) };
  }

  #metadata(ending: EngineEnding, rule: string): ExecutionResult['metadata'] {
    return {
      engineVersion: this.#options.engineVersion,
      ...(this.#threadId === undefined ? {} : { threadId: this.#threadId }),
      // The next run of this thread subtracts it.
      ...(this.#totals === undefined ? {} : { threadUsage: { ...this.#totals } }),
      ending: {
        rule,
        cause: ending.cause,
        exitCode: ending.exitCode,
        signal: ending.signal,
        nativeVerdict: this.#verdict?.kind ?? null,
      },
    };
  }

  /** Codex numbers items from 0 in every process; a second attempt must not reuse the ids of the first. */
  #scoped(id: string): string {
    return this.#options.attempt === 1 ? id : `${id}@${this.#options.attempt}`;
  }
}
