import {
  type NewEvent,
  type PlatformEventPayload,
  type PlatformEventType,
  platformEvent,
} from '#shared/contracts/index.ts';
import {
  boundPayload,
  boundTail,
  boundText,
  type Json,
  MAX_RAW_BYTES,
  stripAnsi,
} from './bounds.ts';
import type { EngineEnding, EngineRecord } from './engine-adapter.ts';

/** Diagnostics of one kind that are worth an event each; what comes after is counted as lost. */
const MAX_UNDECODABLE_EVENTS = 50;

/** Makes the events of one execution: all carry the engine's session once it is known. */
export class EventMaker {
  readonly #namespace: string;
  readonly #wantsNative: boolean;
  #sessionId: string | null = null;
  #undecodable = 0;
  #unsaidBytes = 0;

  constructor(options: { namespace: string; native: boolean }) {
    this.#namespace = options.namespace;
    this.#wantsNative = options.native;
  }

  openSession(sessionId: string): void {
    this.#sessionId = sessionId;
  }

  platform<T extends PlatformEventType>(
    type: T,
    payload: PlatformEventPayload<T>,
    at: string,
  ): NewEvent {
    return platformEvent(type, payload, { timestamp: at, engineSessionId: this.#sessionId });
  }

  /** The engine's own record under its own name; nothing when the run does not have native events. */
  native(type: string, payload: Json, record: EngineRecord): NewEvent[] {
    if (!this.#wantsNative) return [];
    return [
      {
        eventType: `${this.#namespace}.${safeType(type)}`,
        source: 'engine_native',
        family: 'execution',
        timestamp: record.at,
        engineSessionId: this.#sessionId,
        payload: boundPayload(payload, record.text.length),
      },
    ];
  }

  notice(
    kind: 'engine_notice' | 'protocol_notice' | 'stderr',
    message: string,
    at: string,
    raw?: string,
  ): NewEvent {
    const bounded = boundText(message, MAX_RAW_BYTES);
    return this.platform(
      'execution.diagnostic',
      { kind, message: bounded.text, ...(raw === undefined ? {} : { raw }) },
      at,
    );
  }

  /** TRM-8: output that is no record of the protocol is kept, bounded, and never ends a run by itself. */
  undecodable(record: EngineRecord, reason: string): NewEvent[] {
    this.#undecodable += 1;
    if (this.#undecodable > MAX_UNDECODABLE_EVENTS) {
      this.#unsaidBytes += Buffer.byteLength(record.text) + record.truncatedBytes;
      return [];
    }
    const raw = boundText(record.text, MAX_RAW_BYTES);
    const cut = (raw.truncatedBytes ?? 0) + record.truncatedBytes;
    const what = record.unterminated ? 'truncated tail' : 'undecodable output';
    return [
      this.platform(
        'execution.diagnostic',
        {
          kind: 'undecodable_output',
          message: `${what}: ${record.invalidUtf8 ? 'not UTF-8' : reason}`,
          raw: raw.text,
          ...(cut === 0 ? {} : { truncatedBytes: cut }),
        },
        record.at,
      ),
    ];
  }

  /** What is said once at the end: how much output was not readable, the end of stderr, the session's end. */
  closing(ending: EngineEnding): NewEvent[] {
    const unsaid = this.#undecodable - MAX_UNDECODABLE_EVENTS;
    const stderr = boundTail(stripAnsi(ending.stderrTail).trim(), MAX_RAW_BYTES);
    const nativeSessionId = this.#sessionId;
    return [
      ...(unsaid > 0 ? [this.platform('events.lost', this.#unsaid(unsaid), ending.at)] : []),
      ...(stderr === '' ? [] : [this.notice('stderr', 'end of stderr', ending.at, stderr)]),
      ...(nativeSessionId === null
        ? []
        : [this.platform('engine.session.completed', { nativeSessionId }, ending.at)]),
    ];
  }

  #unsaid(count: number): PlatformEventPayload<'events.lost'> {
    return { reason: 'undecodable', count, bytes: this.#unsaidBytes };
  }
}

/** Engines name their events as they like; ours allow letters, digits and `.`, `_`, `-`, `/`. */
function safeType(type: string): string {
  const safe = type.replaceAll(/[^a-zA-Z0-9_/.-]/g, '_').slice(0, 80);
  return /^[a-zA-Z0-9_/-]+(\.[a-zA-Z0-9_/-]+)*$/.test(safe) ? safe : 'unnamed';
}
