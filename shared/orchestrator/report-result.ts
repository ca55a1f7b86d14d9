import type { ExecutionScope } from '#shared/auth/index.ts';
import { PlatformError, type ResultReply, type ResultRequest } from '#shared/contracts/index.ts';
import { type AppendDeps, appendBatch } from './append-events.ts';
import type { Logger } from './ports.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

/**
 * The host's last word: stores its remaining events, then lets the decision function make the ending of its result.
 * Telemetry never decides the outcome: a log that was taken away still leaves the decision to the head.
 *
 * @throws PlatformError `authority_lost` when the run belongs to another attempt
 */
export async function reportResult(
  deps: SettleDeps & AppendDeps & { log: Logger },
  scope: ExecutionScope,
  request: ResultRequest,
): Promise<ResultReply> {
  await appendBatch(deps, scope, request.cursor, request.batch).catch((error: unknown) => {
    if (!(error instanceof PlatformError) || error.code !== 'authority_lost') throw error;
    deps.log.warn(
      { runId: scope.runId, epoch: scope.epoch },
      'events of a result came after the end',
    );
  });
  const settled = await settleRun(deps, scope, {
    kind: 'host_result',
    epoch: scope.epoch,
    result: request.result,
  });
  switch (settled.outcome) {
    case 'ended':
      return { outcome: 'committed', status: settled.head.status };
    case 'requeued':
      return { outcome: 'requeued', status: settled.head.status };
    case 'stayed':
      return { outcome: 'kept', status: settled.head.status };
    case 'not_found':
      throw new PlatformError('authority_lost', 'the run is gone', { remedy: 'exit' });
  }
}
