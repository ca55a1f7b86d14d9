import { claimRequestSchema } from '#shared/contracts/index.ts';
import { acceptHost } from '#shared/orchestrator/index.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `POST /host/v1/claim` with the launch ticket: see {@link acceptHost}. */
export function claimRunHandler(
  open: () => Promise<Parameters<typeof acceptHost>[0]>,
  log: Parameters<typeof acceptHost>[0]['log'],
) {
  return httpFunction({
    log,
    body: claimRequestSchema,
    run: async (request) => ({
      status: 200,
      body: await acceptHost(await open(), request.bearer(), request.body),
    }),
  });
}
