import { type Logger, viewRun } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { httpFunction } from '../../kit/http-function.ts';
import { runOfPath } from '../../kit/run-path.ts';

/** `GET /v1/runs/{runId}`: the run, its attempts, its capability layers and, once ended, its result. */
export function getRunHandler(deps: { ledger: RunLedger; log: Logger }) {
  return httpFunction({
    log: deps.log,
    run: async (request) => ({
      status: 200,
      body: await viewRun(deps.ledger, runOfPath(request.caller().tenantId, request.path)),
    }),
  });
}
