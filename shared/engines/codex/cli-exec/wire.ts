import { z } from 'zod';
import { isDeeperThan, MAX_NESTING } from '../../bounds.ts';

/**
 * What `codex exec --json` prints, as far as we read it. Codex may add fields, types and items at any time, so
 * everything but what identifies a record is optional and unknown fields are ignored.
 */
const text = z.string();
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const status = z.string().nullish();

/** Counts of the whole thread so far, not of the turn. */
export const usageTotalsSchema = z.object({
  input_tokens: count.nullish(),
  cached_input_tokens: count.nullish(),
  output_tokens: count.nullish(),
  reasoning_output_tokens: count.nullish(),
});
export type UsageTotals = z.infer<typeof usageTotalsSchema>;

const item = <T extends string, S extends z.ZodRawShape>(type: T, shape: S) =>
  z.object({ id: text, type: z.literal(type), ...shape });

const itemSchema = z.discriminatedUnion('type', [
  item('agent_message', { text }),
  item('reasoning', { text }),
  item('command_execution', {
    command: text,
    aggregated_output: text.nullish(),
    exit_code: z.number().int().nullish(),
    status,
  }),
  item('file_change', {
    changes: z.array(z.object({ path: text, kind: text })),
    status,
  }),
  item('mcp_tool_call', {
    server: text,
    tool: text,
    arguments: z.json().nullish(),
    result: z
      .object({ content: z.array(z.looseObject({ text: text.optional() })).nullish() })
      .nullish(),
    error: z.object({ message: text }).nullish(),
    status,
  }),
  item('web_search', { query: text.nullish() }),
  item('collab_tool_call', { tool: text, prompt: text.nullish(), status }),
  item('error', { message: text }),
]);
export type CodexItem = z.infer<typeof itemSchema>;
/** Items that are something the engine does, not something it says. */
export type CodexToolItem = Exclude<
  CodexItem,
  { type: 'agent_message' } | { type: 'reasoning' } | { type: 'error' }
>;

const ITEM_PHASES = ['item.started', 'item.updated', 'item.completed'] as const;
export type ItemPhase = 'started' | 'updated' | 'completed';

const eventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('thread.started'), thread_id: text }),
  z.object({ type: z.literal('turn.started') }),
  z.object({ type: z.enum(ITEM_PHASES), item: itemSchema }),
  z.object({ type: z.literal('turn.completed'), usage: usageTotalsSchema.nullish() }),
  z.object({
    type: z.literal('turn.failed'),
    error: z.object({ message: text.nullish() }).nullish(),
  }),
  z.object({ type: z.literal('error'), message: text.nullish() }),
]);
export type CodexEvent = z.infer<typeof eventSchema>;

const KNOWN_TYPES = [
  'thread.started',
  'turn.started',
  ...ITEM_PHASES,
  'turn.completed',
  'turn.failed',
  'error',
];
const KNOWN_ITEM_TYPES: readonly string[] = itemSchema.options.map(
  (option) => option.shape.type.value,
);

const jsonObjectSchema = z.record(z.string(), z.json());
export type NativeRecord = z.infer<typeof jsonObjectSchema>;

export type WireRecord =
  /** Not one JSON object with a type. */
  | { readonly kind: 'undecodable'; readonly reason: string }
  /** A type or an item that we do not know: passed on as it is. */
  | { readonly kind: 'unknown'; readonly type: string; readonly native: NativeRecord }
  /** A type that we know, in another shape than we know. */
  | {
      readonly kind: 'malformed';
      readonly type: string;
      readonly native: NativeRecord;
      readonly reason: string;
    }
  | {
      readonly kind: 'event';
      readonly type: string;
      readonly event: CodexEvent;
      readonly native: NativeRecord;
    };

export function decodeRecord(line: string): WireRecord {
  let parsed: unknown;
  try {
    // Of a repeated key JSON.parse keeps the last: in a web_search item that is the provider's id, in both phases.
    parsed = JSON.parse(line);
  } catch {
    return { kind: 'undecodable', reason: 'not JSON' };
  }
  if (isDeeperThan(parsed, MAX_NESTING))
    return { kind: 'undecodable', reason: 'nested too deeply' };
  const native = jsonObjectSchema.safeParse(parsed);
  const type = native.data?.type;
  if (!native.success || typeof type !== 'string') {
    return { kind: 'undecodable', reason: 'not an object with a type' };
  }
  if (!isKnown(type, native.data)) return { kind: 'unknown', type, native: native.data };
  const event = eventSchema.safeParse(native.data);
  if (event.success) return { kind: 'event', type, event: event.data, native: native.data };
  const [issue] = event.error.issues;
  const reason = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`;
  return { kind: 'malformed', type, native: native.data, reason };
}

function isKnown(type: string, native: NativeRecord): boolean {
  if (!KNOWN_TYPES.includes(type)) return false;
  if (!type.startsWith('item.')) return true;
  const { item: inner } = native;
  const isRecord = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  // An item without a readable type is malformed, one of a new type is unknown.
  return !isRecord || typeof inner.type !== 'string' || KNOWN_ITEM_TYPES.includes(inner.type);
}

/** `item.started` → `started`. */
export function itemPhase(type: (typeof ITEM_PHASES)[number]): ItemPhase {
  return type.slice('item.'.length) as ItemPhase;
}
