import { z } from 'zod';
import { executionErrorSchema } from './execution-error.ts';
import { processTreeSchema } from './process-tree.ts';
import { terminalStatusSchema } from './run-status.ts';
import { usageSchema } from './usage.ts';

/** Longest output kept in a result, in UTF-8 bytes; the whole text is in the `message.completed` events. */
export const MAX_RESULT_OUTPUT_BYTES = 32 * 1024;

/** CON-3: how one execution ended, as its host reports it and its run keeps it. */
export const executionResultSchema = z.strictObject({
  schemaVersion: z.literal('1'),
  status: terminalStatusSchema,
  /** The engine's final message; null when it said nothing. */
  output: z.string().nullable(),
  outputTruncatedBytes: z.number().int().min(1).optional(),
  artifacts: z.array(z.strictObject({ artifactId: z.string(), name: z.string() })),
  usage: usageSchema,
  /** Belongs to the adapter that wrote it; the platform stores it unread. */
  metadata: z.record(z.string(), z.json()),
  error: executionErrorSchema.optional(),
  /** How the host knows that nothing of the engine is left; absent when none was started. */
  processTree: processTreeSchema.optional(),
});
export type ExecutionResult = z.infer<typeof executionResultSchema>;
