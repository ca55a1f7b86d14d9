/** One item of the conversation that the engine sends with each request. */
export type InputItem = Readonly<Record<string, unknown>>;

/** The fields of a Responses API request that scripts look at; everything else is kept as it came. */
export interface ModelRequest {
  readonly model: string;
  readonly input: readonly InputItem[];
  readonly tools: readonly InputItem[];
  readonly raw: Readonly<Record<string, unknown>>;
}

/** `undefined` for anything that is not a JSON object. */
export function parseModelRequest(text: string): ModelRequest | undefined {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(body)) return undefined;
  return {
    model: typeof body.model === 'string' ? body.model : '',
    input: Array.isArray(body.input) ? body.input.filter(isRecord) : [],
    tools: Array.isArray(body.tools) ? body.tools.filter(isRecord) : [],
    raw: body,
  };
}

/** Names of the tools offered to the model, those inside namespaces included as `namespace/name`. */
export function toolNames(request: ModelRequest): string[] {
  return request.tools.flatMap((tool) => {
    const name = typeof tool.name === 'string' ? tool.name : String(tool.type);
    if (tool.type !== 'namespace' || !Array.isArray(tool.tools)) return [name];
    return tool.tools.filter(isRecord).map((inner) => `${name}/${String(inner.name)}`);
  });
}

/** Text of the newest message of the user: the prompt of the turn being answered. */
export function lastPrompt(request: ModelRequest): string {
  const index = lastUserMessage(request);
  return index < 0 ? '' : textOf(request.input[index]?.content);
}

/** Results of tool calls since the newest message of the user, oldest first. */
export function toolResults(request: ModelRequest): string[] {
  return request.input
    .slice(lastUserMessage(request) + 1)
    .filter(({ type }) => type === 'function_call_output' || type === 'custom_tool_call_output')
    .map(({ output }) => (typeof output === 'string' ? output : textOf(output)));
}

function lastUserMessage(request: ModelRequest): number {
  return request.input.findLastIndex(({ type, role }) => type === 'message' && role === 'user');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .filter(isRecord)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
