import type { ExecutionResult, ProcessTree } from '#shared/contracts/index.ts';
import type { Evidence, RunHead } from '#shared/runs/index.ts';

/**
 * HST-2: how it is known that nothing of the attempt that ends is alive: from its host, or from what the platform saw
 * in its place. Undefined when nobody knows: a deadline does not wait for a task that does not answer.
 *
 * @param result of the host, whether it is the outcome or came too late for that
 */
export function treeEvidence(
  head: RunHead,
  evidence: Evidence,
  result: ExecutionResult | undefined,
  now: string,
): ProcessTree | undefined {
  if (result) return result.processTree;
  // An engine is started by a host that has claimed the run, and from now on no host can claim it.
  if (!head.hostInstanceId) return { verifiedBy: 'never_started', verifiedGoneAt: now };
  if (evidence.kind === 'task_stopped') return { verifiedBy: 'task_stopped', verifiedGoneAt: now };
  const task = 'task' in evidence ? evidence.task : 'unknown';
  if (task === 'stopped') return { verifiedBy: 'task_stopped', verifiedGoneAt: now };
  if (task === 'missing') return { verifiedBy: 'task_missing', verifiedGoneAt: now };
  return undefined;
}
