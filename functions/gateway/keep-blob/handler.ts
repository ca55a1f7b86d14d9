import type { ExecutionTokens } from '#shared/auth/index.ts';
import { MAX_UPLOAD_CHARACTERS, uploadBlobRequestSchema } from '#shared/contracts/index.ts';
import { keepBlob, type Logger } from '#shared/orchestrator/index.ts';
import { executionOf } from '../../kit/execution-call.ts';
import { httpFunction } from '../../kit/http-function.ts';

const ENVELOPE_BYTES = 1_024;

/** `POST /host/v1/runs/{runId}/blobs`: see {@link keepBlob}. */
export function keepBlobHandler(
  open: () => Promise<Parameters<typeof keepBlob>[0] & { tokens: ExecutionTokens }>,
  log: Logger,
) {
  return httpFunction({
    log,
    body: uploadBlobRequestSchema,
    maxBodyBytes: MAX_UPLOAD_CHARACTERS + ENVELOPE_BYTES,
    run: async (request) => {
      const deps = await open();
      return {
        status: 200,
        body: await keepBlob(deps, executionOf(deps.tokens, request), request.body),
      };
    },
  });
}
