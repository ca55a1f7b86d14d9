import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ModelRequest } from './model-request.ts';
import type { ModelStep, ModelUsage, OutputItem } from './model-step.ts';

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
};
const DEFAULT_USAGE: ModelUsage = { inputTokens: 100, outputTokens: 20 };

/** Answers one request with one step; resolves when the answer is over, also when the client hung up. */
export async function writeStep(
  response: ServerResponse,
  request: ModelRequest,
  step: ModelStep,
): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    if (step.delayMs !== undefined) await delay(step.delayMs, undefined, { signal: gone.signal });
    await new StepWriter(response, request, gone.signal).write(step);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

class StepWriter {
  readonly #response: ServerResponse;
  readonly #signal: AbortSignal;
  readonly #base: Readonly<Record<string, unknown>>;
  #sequence = 0;

  constructor(response: ServerResponse, request: ModelRequest, signal: AbortSignal) {
    this.#response = response;
    this.#signal = signal;
    this.#base = {
      id: newId('resp'),
      object: 'response',
      created_at: Math.floor(Date.now() / 1000),
      model: request.model,
      output: [],
    };
  }

  async write(step: ModelStep): Promise<void> {
    if (step.kind === 'http') this.#httpError(step);
    else await this.#stream(step);
  }

  async #stream(step: Exclude<ModelStep, { kind: 'http' }>): Promise<void> {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
    });
    if (step.kind !== 'raw') {
      this.#event('response.created', { response: { ...this.#base, status: 'in_progress' } });
    }
    switch (step.kind) {
      case 'raw':
        this.#response.end(step.text);
        return;
      case 'respond':
        return this.#respond(step);
      case 'failed':
        return this.#end('response.failed', {
          status: 'failed',
          error: { code: step.code, message: step.message },
        });
      case 'incomplete':
        return this.#end('response.incomplete', {
          status: 'incomplete',
          incomplete_details: { reason: step.reason },
        });
      case 'eof':
        await this.#items(step.items.map(withIds));
        this.#response.end();
        return;
      case 'cut':
        await this.#items(step.items.map(withIds));
        await this.#flush();
        this.#response.destroy();
        return;
      case 'hang':
        // Without the first bytes on the wire the client would wait for headers, which is another case.
        this.#response.flushHeaders();
        if (!this.#signal.aborted) await once(this.#signal, 'abort');
        return;
    }
  }

  #httpError(step: Extract<ModelStep, { kind: 'http' }>): void {
    const isText = typeof step.body === 'string';
    this.#response.writeHead(step.status, {
      'content-type': isText ? 'text/plain' : 'application/json',
      ...step.headers,
    });
    this.#response.end(isText ? step.body : JSON.stringify(step.body ?? {}));
  }

  async #respond(step: Extract<ModelStep, { kind: 'respond' }>): Promise<void> {
    const items = step.items.map(withIds);
    await this.#items(items, step.deltas, step.deltaDelayMs);
    this.#end('response.completed', {
      status: 'completed',
      output: items,
      usage: wireUsage(step.usage ?? DEFAULT_USAGE),
    });
  }

  async #items(
    items: readonly OutputItem[],
    deltas?: readonly string[],
    deltaDelayMs = 0,
  ): Promise<void> {
    const lastMessage = items.findLastIndex(({ type }) => type === 'message');
    for (const [index, item] of items.entries()) {
      const isMessage = item.type === 'message';
      this.#event('response.output_item.added', {
        output_index: index,
        item: isMessage ? { ...item, content: [] } : item,
      });
      const pieces = index === lastMessage && deltas !== undefined ? deltas : [messageText(item)];
      for (const delta of isMessage ? pieces : []) {
        this.#event('response.output_text.delta', {
          item_id: item.id,
          output_index: index,
          content_index: 0,
          delta,
        });
        if (deltaDelayMs > 0) await delay(deltaDelayMs, undefined, { signal: this.#signal });
      }
      this.#event('response.output_item.done', { output_index: index, item });
    }
  }

  #end(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.#event(type, { response: { ...this.#base, ...fields } });
    this.#response.end();
  }

  #event(type: string, fields: Readonly<Record<string, unknown>>): void {
    const data = JSON.stringify({ type, sequence_number: this.#sequence++, ...fields });
    this.#response.write(`event: ${type}\ndata: ${data}\n\n`);
  }

  /** Resolves when everything written so far was handed to the system. */
  #flush(): Promise<void> {
    return new Promise((resolve) => this.#response.write(': cut\n\n', () => resolve()));
  }
}

function withIds(item: OutputItem): OutputItem {
  const prefix = ID_PREFIXES[item.type] ?? 'item';
  const isCall = item.type.endsWith('_call');
  return { id: newId(prefix), ...(isCall ? { call_id: newId('call') } : {}), ...item };
}

function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}

function messageText(item: OutputItem): string {
  const [part] = Array.isArray(item.content) ? (item.content as { text?: unknown }[]) : [];
  return typeof part?.text === 'string' ? part.text : '';
}

function wireUsage(usage: ModelUsage) {
  return {
    input_tokens: usage.inputTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens ?? 0 },
    output_tokens: usage.outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}
