import {
  type ExecutionRequest,
  type ExecutionResult,
  type NewEvent,
  PlatformError,
  type Usage,
} from '#shared/contracts/index.ts';
import { boundText, MAX_EVENT_TEXT_BYTES } from '../bounds.ts';
import { buildResult } from '../build-result.ts';
import { decideOutcome, type NativeVerdict } from '../ending-rules.ts';
import type {
  EngineEnding,
  EngineRecord,
  EngineTranslator,
  Translation,
} from '../engine-adapter.ts';
import { EventMaker } from '../event-maker.ts';
import { budgetOverrun } from '../run-budget.ts';
import { ToolCalls } from '../tool-calls.ts';
import { decodeRecord, type EngineInput, type LocalTestRecord } from './wire.ts';

interface TranslatorOptions {
  readonly allowed: EngineInput['allowed'];
  readonly streaming: boolean;
  readonly nativeEvents: boolean;
  readonly budget: ExecutionRequest['budget'];
}

/** Records of the scripted engine in, events and one result out. */
export class LocalTestTranslator implements EngineTranslator {
  readonly #options: TranslatorOptions;
  readonly #events: EventMaker;
  readonly #tools = new ToolCalls();
  readonly #said = new Set<string>();
  #lastMessage: string | null = null;
  #output: string | null | undefined;
  #verdict: NativeVerdict | undefined;
  #tokens: Usage = {};
  #stoppedFor: PlatformError | undefined;
  #spoke = false;
  #mayHaveActed = false;

  constructor(options: TranslatorOptions) {
    this.#options = options;
    this.#events = new EventMaker({ namespace: 'local_test', native: options.nativeEvents });
  }

  onRecord(engineRecord: EngineRecord): Translation {
    this.#spoke = true;
    const record = decodeRecord(engineRecord.text);
    if (record === undefined) {
      if (engineRecord.truncatedBytes > 0 || engineRecord.unterminated) this.#mayHaveActed = true;
      return { events: this.#events.undecodable(engineRecord, 'not a record of the protocol') };
    }
    if (record.type === 'ready') this.#events.openSession(record.sessionId);
    const native = this.#events.native(record.type, record, engineRecord);
    const events = [...native, ...this.#onRecord(record, engineRecord.at)];
    const stop = this.#forbidden(record) ?? budgetOverrun(this.#options.budget, this.#usage());
    if (stop === undefined) return { events };
    this.#stoppedFor ??= stop;
    return stop.code === 'budget_exhausted'
      ? { events, budgetExhausted: stop }
      : { events, violation: stop };
  }

  conclude(ending: EngineEnding): {
    readonly events: readonly NewEvent[];
    readonly result: ExecutionResult;
  } {
    const aborted = this.#tools
      .abortOpen()
      .map((payload) => this.#events.platform('tool.completed', payload, ending.at));
    const outcome = decideOutcome({
      engineName: 'the scripted test engine',
      ending,
      stoppedFor: this.#stoppedFor,
      verdict: this.#verdict,
      spoke: this.#spoke,
      sideEffects: this.#mayHaveActed ? 'maybe' : 'none',
    });
    return {
      events: [...aborted, ...this.#events.closing(ending)],
      result: buildResult({
        outcome,
        output: this.#output ?? null,
        usage: this.#usage(),
        metadata: { rule: outcome.rule, exitCode: ending.exitCode, signal: ending.signal },
      }),
    };
  }

  #onRecord(record: LocalTestRecord, at: string): NewEvent[] {
    switch (record.type) {
      case 'ready':
        return this.#isNew('ready')
          ? [
              this.#events.platform(
                'engine.session.started',
                { nativeSessionId: record.sessionId, engineVersion: record.version },
                at,
              ),
            ]
          : [];
      case 'delta':
        return this.#options.streaming && this.#isNew(`delta ${record.id} ${record.seq}`)
          ? [
              this.#events.platform(
                'message.delta',
                { messageId: record.id, text: record.text },
                at,
              ),
            ]
          : [];
      case 'message':
        return this.#onMessage(record, at);
      case 'tool.started': {
        this.#mayHaveActed = true;
        const started = this.#tools.start(record);
        return started ? [this.#events.platform('tool.started', started, at)] : [];
      }
      case 'tool.completed': {
        if (record.status !== 'declined') this.#mayHaveActed = true;
        const completed = this.#tools.complete(record, record);
        return completed ? [this.#events.platform('tool.completed', completed, at)] : [];
      }
      case 'usage':
        this.#tokens = record.usage;
        return [this.#events.platform('usage.updated', { usage: this.#usage() }, at)];
      case 'filler':
        return [];
      case 'completed':
        this.#verdict = { kind: 'completed' };
        this.#output = record.output ?? this.#lastMessage;
        return [];
      case 'failed':
        this.#verdict = { kind: 'failed', code: 'engine_failed', message: record.message };
        return [];
    }
  }

  #onMessage(record: Extract<LocalTestRecord, { type: 'message' }>, at: string): NewEvent[] {
    if (!this.#isNew(`message ${record.id}`)) return [];
    this.#lastMessage = record.text;
    const { text, truncatedBytes } = boundText(record.text, MAX_EVENT_TEXT_BYTES);
    return [
      this.#events.platform(
        'message.completed',
        {
          messageId: record.id,
          role: 'assistant',
          text,
          ...(truncatedBytes === undefined ? {} : { truncatedBytes }),
        },
        at,
      ),
    ];
  }

  #isNew(key: string): boolean {
    const isNew = !this.#said.has(key);
    this.#said.add(key);
    return isNew;
  }

  #forbidden(record: LocalTestRecord): PlatformError | undefined {
    const isTool = record.type === 'tool.started' || record.type === 'tool.completed';
    if (!isTool || (record.type === 'tool.completed' && record.status === 'declined')) {
      return undefined;
    }
    const { commands, fileChanges } = this.#options.allowed;
    const forbidden =
      (record.kind === 'command' && !commands) || (record.kind === 'file_change' && !fileChanges);
    if (!forbidden) return undefined;
    return new PlatformError(
      'capability_violation',
      `the engine did what this run may not do: ${record.kind}`,
      { sideEffects: 'maybe', details: { kind: record.kind } },
    );
  }

  #usage(): Usage {
    return { ...this.#tokens, ...(this.#spoke ? { toolCalls: this.#tools.count } : {}) };
  }
}
