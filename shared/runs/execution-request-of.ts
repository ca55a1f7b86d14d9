import type { ExecutionRequest } from '#shared/contracts/index.ts';
import type { RunHead } from './run-head.ts';
import type { AttemptSnapshot, RunSpecification } from './run-ledger.ts';

/** CON-2: what a host is told of its attempt, put together from the three records that say it. */
export function executionRequestOf(
  head: RunHead,
  specification: RunSpecification,
  snapshot: AttemptSnapshot,
): ExecutionRequest {
  return {
    schemaVersion: '1',
    executionId: head.runId,
    tenantId: head.tenantId,
    ...(head.agentId ? { agentId: head.agentId } : {}),
    ...(head.conversationId ? { conversationId: head.conversationId } : {}),
    attempt: snapshot.attempt,
    engine: head.engine,
    input: specification.input,
    config: specification.config,
    capabilities: snapshot.capabilities,
    budget: specification.budget,
    deadlineAt: head.deadlineAt,
    trace: { traceId: head.traceId },
  };
}
