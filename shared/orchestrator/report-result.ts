import type { ExecutionScope } from '#shared/auth/index.ts';
import {
  ERROR_SPECS,
  PlatformError,
  type ResultReply,
  type ResultRequest,
} from '#shared/contracts/index.ts';
import { type AppendDeps, appendBatch } from './append-events.ts';
import type { Logger } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

/**
 * The host's last word: stores its remaining events, then lets the decision function make the ending of its result.
 * Telemetry never decides the outcome (B109): events whose log was taken away, or that no repeat could store, do not
 * hold the result up. A fault that passes does: the host says all of it again.
 *
 * @throws PlatformError `authority_lost` when the run belongs to another attempt
 */
export async function reportResult(
  deps: SettleDeps & AppendDeps & { log: Logger },
  scope: ExecutionScope,
  request: ResultRequest,
): Promise<ResultReply> {
  const { runId, epoch } = scope;
  if (request.batch.events.length > 0) {
    await appendBatch(deps, scope, request.cursor, request.batch).catch((error: unknown) => {
      if (!isFinalRefusal(error)) throw error;
      const { length: count } = request.batch.events;
      deps.log.warn({ runId, epoch, code: error.code, count }, 'last events of a run not stored');
    });
  }
  const settled = await settleRun(deps, scope, {
    kind: 'host_result',
    epoch,
    result: request.result,
  });
  switch (settled.outcome) {
    case 'ended':
      return { outcome: 'committed', status: settled.head.status };
    case 'requeued':
      return { outcome: 'requeued', status: settled.head.status };
    case 'stayed': {
      const { status, usage } = request.result;
      deps.log.info({ runId, epoch, status, usage }, 'result came after the end');
      return { outcome: 'kept', status: settled.head.status };
    }
    case 'not_found':
      throw new PlatformError('authority_lost', 'the run is gone', { remedy: 'exit' });
  }
}

function isFinalRefusal(error: unknown): error is PlatformError {
  return error instanceof PlatformError && ERROR_SPECS[error.code].http < 500;
}
