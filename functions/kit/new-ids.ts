import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import type { Ids } from '#shared/orchestrator/index.ts';

export const randomIds: Ids = {
  runId: () => `run_${ulid()}`,
  traceId: () => randomBytes(16).toString('hex'),
};
