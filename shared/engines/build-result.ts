import {
  type ExecutionResult,
  executionResultSchema,
  MAX_RESULT_OUTPUT_BYTES,
  type Usage,
} from '#shared/contracts/index.ts';
import { boundText } from './bounds.ts';
import type { Outcome } from './ending-rules.ts';

/** The result of one execution, checked against its schema. */
export function buildResult(parts: {
  readonly outcome: Outcome;
  /** The engine's final message. */
  readonly output: string | null;
  readonly usage: Usage;
  readonly metadata: ExecutionResult['metadata'];
}): ExecutionResult {
  const { outcome, usage, metadata } = parts;
  // Over its budget a run still has done its work; after any other ending its text is no result (B04).
  const keepsOutput = outcome.status === 'completed' || outcome.status === 'budget_exhausted';
  const output =
    keepsOutput && parts.output !== null ? boundText(parts.output, MAX_RESULT_OUTPUT_BYTES) : null;
  const cut = output?.truncatedBytes;
  return executionResultSchema.parse({
    schemaVersion: '1',
    status: outcome.status,
    output: output?.text ?? null,
    ...(cut === undefined ? {} : { outputTruncatedBytes: cut }),
    artifacts: [],
    usage,
    metadata,
    ...(outcome.error === undefined ? {} : { error: outcome.error }),
  });
}
