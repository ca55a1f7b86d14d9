import {
  createRunRequestSchema,
  type ExecutionHandle,
  idempotencyKeySchema,
  PlatformError,
} from '#shared/contracts/index.ts';
import { submitRun } from '#shared/orchestrator/index.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `POST /v1/runs` → 202 with the handle; the same `Idempotency-Key` and body answers the same run. */
export function createRunHandler(deps: Parameters<typeof submitRun>[0]) {
  return httpFunction({
    log: deps.log,
    body: createRunRequestSchema,
    run: async (request) => {
      const given = request.headers['idempotency-key'];
      const key = given === undefined ? undefined : idempotencyKeySchema.safeParse(given);
      if (key && !key.success) {
        throw new PlatformError(
          'invalid_request',
          `Idempotency-Key ${key.error.issues[0]?.message}`,
          {
            field: 'Idempotency-Key',
            remedy: 'use for example a UUID',
          },
        );
      }
      const { head, replayed } = await submitRun(deps, request.caller(), request.body, key?.data);
      const self = `/v1/runs/${head.runId}`;
      const handle: ExecutionHandle = {
        schemaVersion: '1',
        executionId: head.runId,
        engine: head.engine,
        acceptedAt: head.createdAt,
        links: {
          self,
          events: `${self}/events`,
          stream: `${self}/stream`,
          cancel: `${self}/cancel`,
        },
      };
      return {
        status: 202,
        body: handle,
        headers: { location: self, ...(replayed ? { 'idempotency-replayed': 'true' } : {}) },
      };
    },
  });
}
