import type { PlatformEventPayload } from '#shared/contracts/index.ts';
import { boundText, MAX_EVENT_TEXT_BYTES, summaryLine } from './bounds.ts';

type Started = PlatformEventPayload<'tool.started'>;
type Completed = PlatformEventPayload<'tool.completed'>;

/** What a translator knows of a tool call, in its own words; texts may be of any length. */
export interface ToolCall {
  readonly id: string;
  readonly kind: Started['kind'];
  readonly name: string;
  readonly summary: string;
  readonly input?: Started['input'];
}

export interface ToolResult {
  readonly status: Completed['status'];
  readonly exitCode?: number;
  readonly output?: string;
  readonly changes?: Completed['changes'];
}

interface Tracked {
  readonly call: ToolCall;
  output: string;
}

/**
 * The tool calls of one execution: each is shown started at most once and completed at most once, whatever the
 * engine repeats, forgets or puts in the wrong order (B11, B26).
 */
export class ToolCalls {
  readonly #open = new Map<string, Tracked>();
  readonly #seen = new Set<string>();
  readonly #closed = new Set<string>();

  /** Distinct calls so far, whether or not their start was announced. */
  get count(): number {
    return this.#seen.size;
  }

  /** `undefined` for a start that was announced before, also by its own end. */
  start(call: ToolCall): Started | undefined {
    if (this.#seen.has(call.id)) return undefined;
    this.#seen.add(call.id);
    this.#open.set(call.id, { call, output: '' });
    return {
      toolCallId: call.id,
      kind: call.kind,
      name: call.name,
      summary: summaryLine(call.summary),
      ...(call.input === undefined ? {} : { input: call.input }),
    };
  }

  /** Output so far; the engine's final word may be empty although there was some (B11). */
  progress(id: string, output: string): void {
    const tracked = this.#open.get(id);
    if (tracked !== undefined && output.length > tracked.output.length) tracked.output = output;
  }

  /** `undefined` for an end that was reported before. */
  complete(call: ToolCall, result: ToolResult): Completed | undefined {
    if (this.#closed.has(call.id)) return undefined;
    const earlier = this.#open.get(call.id)?.output ?? '';
    this.#seen.add(call.id);
    this.#closed.add(call.id);
    this.#open.delete(call.id);
    return completed(call, { ...result, output: result.output || earlier || undefined });
  }

  /** Ends what the engine left open; called once, when it is gone. */
  abortOpen(): Completed[] {
    const open = [...this.#open.values()];
    for (const { call } of open) this.#closed.add(call.id);
    this.#open.clear();
    return open.map(({ call, output }) =>
      completed(call, { status: 'aborted', output: output || undefined }),
    );
  }
}

function completed(
  call: ToolCall,
  result: Omit<ToolResult, 'output'> & { readonly output: string | undefined },
): Completed {
  return {
    toolCallId: call.id,
    kind: call.kind,
    name: call.name,
    summary: summaryLine(call.summary),
    status: result.status,
    ...(result.exitCode === undefined ? {} : { exitCode: result.exitCode }),
    ...(result.output === undefined ? {} : boundOutput(result.output)),
    ...(result.changes === undefined ? {} : { changes: result.changes }),
  };
}

function boundOutput(output: string): Pick<Completed, 'output' | 'truncatedBytes'> {
  const { text, truncatedBytes } = boundText(output, MAX_EVENT_TEXT_BYTES);
  return { output: text, ...(truncatedBytes === undefined ? {} : { truncatedBytes }) };
}
