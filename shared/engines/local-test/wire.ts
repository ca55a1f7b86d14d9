import { z } from 'zod';
import { TOOL_KINDS } from '#shared/contracts/index.ts';
import { isDeeperThan, MAX_NESTING } from '../bounds.ts';

/** Written to the engine's stdin as one JSON document. */
export interface EngineInput {
  readonly prompt: string;
  readonly script: readonly unknown[];
  readonly allowed: { readonly commands: boolean; readonly fileChanges: boolean };
}

const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const tool = { id: z.string(), kind: z.enum(TOOL_KINDS), name: z.string(), summary: z.string() };

const recordSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('ready'), sessionId: z.string(), version: z.string() }),
  z.strictObject({ type: z.literal('delta'), id: z.string(), seq: count, text: z.string() }),
  z.strictObject({ type: z.literal('message'), id: z.string(), text: z.string() }),
  z.strictObject({ type: z.literal('tool.started'), ...tool }),
  z.strictObject({
    type: z.literal('tool.completed'),
    ...tool,
    status: z.enum(['completed', 'failed', 'declined']),
    output: z.string().optional(),
    exitCode: z.number().int().optional(),
    changes: z
      .array(z.strictObject({ path: z.string(), kind: z.enum(['add', 'update', 'delete']) }))
      .optional(),
  }),
  z.strictObject({
    type: z.literal('usage'),
    usage: z.strictObject({
      inputTokens: count.optional(),
      cachedInputTokens: count.optional(),
      outputTokens: count.optional(),
      reasoningTokens: count.optional(),
      modelCalls: count.optional(),
      costUsd: z.number().min(0).optional(),
    }),
  }),
  z.strictObject({ type: z.literal('filler'), text: z.string() }),
  z.strictObject({ type: z.literal('completed'), output: z.string().nullable() }),
  z.strictObject({ type: z.literal('failed'), message: z.string() }),
]);
export type LocalTestRecord = z.infer<typeof recordSchema>;

/** `undefined` for anything that is not a record of this protocol. */
export function decodeRecord(line: string): LocalTestRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return isDeeperThan(parsed, MAX_NESTING) ? undefined : recordSchema.safeParse(parsed).data;
  } catch {
    return undefined;
  }
}
