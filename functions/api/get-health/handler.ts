import type { Logger } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** A run that cannot exist: reading it proves that the table answers. */
const NOWHERE = { tenantId: 'health', runId: 'run_00000000000000000000000000' };

/** `GET /v1/health`, open: 200 `ok`, or 503 `degraded` with the check that failed. No detail of the inside is told. */
export function getHealthHandler(deps: { ledger: RunLedger; version: string; log: Logger }) {
  return httpFunction({
    log: deps.log,
    run: async () => {
      const ok = await deps.ledger.readHead(NOWHERE).then(
        () => true,
        (error: unknown) => {
          deps.log.error({ error }, 'ledger does not answer');
          return false;
        },
      );
      return {
        status: ok ? 200 : 503,
        body: {
          status: ok ? 'ok' : 'degraded',
          version: deps.version,
          checks: [{ name: 'ledger', ok }],
        },
      };
    },
  });
}
