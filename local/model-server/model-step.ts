/** One item of the model's answer, as the Responses API names them; ids are filled in by the server. */
export type OutputItem = { readonly type: string } & Readonly<Record<string, unknown>>;

/** Token counts of one model call. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens?: number;
  readonly reasoningTokens?: number;
}

interface Timing {
  /** Wait before the first byte of the answer. */
  readonly delayMs?: number;
}

/** What the model does with one request. */
export type ModelStep = Timing &
  (
    | {
        readonly kind: 'respond';
        readonly items: readonly OutputItem[];
        readonly usage?: ModelUsage;
        /** Text of the last message in pieces; by default it is sent as one. */
        readonly deltas?: readonly string[];
        readonly deltaDelayMs?: number;
      }
    /** An HTTP error instead of a stream. An object is sent as JSON, a string as it is. */
    | {
        readonly kind: 'http';
        readonly status: number;
        readonly body?: unknown;
        readonly headers?: Readonly<Record<string, string>>;
      }
    /** The socket is destroyed after the items. */
    | { readonly kind: 'cut'; readonly items: readonly OutputItem[] }
    /** The stream ends in order, but without `response.completed`. */
    | { readonly kind: 'eof'; readonly items: readonly OutputItem[] }
    /** These bytes instead of a well-formed stream, with status 200. */
    | { readonly kind: 'raw'; readonly text: string }
    | { readonly kind: 'failed'; readonly code: string; readonly message: string }
    | { readonly kind: 'incomplete'; readonly reason: string }
    /** `response.created`, then silence until the client gives up. */
    | { readonly kind: 'hang' }
  );

type RespondOptions = Omit<Extract<ModelStep, { kind: 'respond' }>, 'kind' | 'items'>;

export function respond(items: readonly OutputItem[], options: RespondOptions = {}): ModelStep {
  return { kind: 'respond', items, ...options };
}

export function message(text: string): OutputItem {
  return {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

export function reasoning(text: string): OutputItem {
  return {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text }],
    content: [],
    encrypted_content: null,
  };
}

/** A call of a tool whose arguments are JSON. */
export function functionCall(name: string, args: unknown): OutputItem {
  return { type: 'function_call', name, arguments: JSON.stringify(args) };
}

/** A call of a tool whose input is free text. */
export function customCall(name: string, input: string): OutputItem {
  return { type: 'custom_tool_call', name, input };
}

export function say(text: string, options: RespondOptions = {}): ModelStep {
  return respond([message(text)], options);
}

export function runCommand(cmd: string, options: { yieldTimeMs?: number } = {}): OutputItem {
  return functionCall('exec_command', { cmd, yield_time_ms: options.yieldTimeMs ?? 10_000 });
}

/** A file change in the freeform patch language. */
export function applyPatch(patch: string): OutputItem {
  return customCall('apply_patch', patch);
}

/** The patch that creates `path` with `content`. */
export function addFilePatch(files: Readonly<Record<string, string>>): string {
  const hunks = Object.entries(files).flatMap(([path, content]) => [
    `*** Add File: ${path}`,
    ...content
      .replace(/\n$/, '')
      .split('\n')
      .map((line) => `+${line}`),
  ]);
  return ['*** Begin Patch', ...hunks, '*** End Patch'].join('\n');
}

export function httpError(
  status: number,
  error: { message: string; type?: string; code?: string | null },
  headers: Readonly<Record<string, string>> = {},
): ModelStep {
  return {
    kind: 'http',
    status,
    body: { error: { type: 'offline_model', code: null, ...error } },
    headers,
  };
}
