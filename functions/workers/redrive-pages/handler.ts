import { PlatformError } from '#shared/contracts/index.ts';
import {
  type RedriveDeps,
  type RedriveReport,
  redrivePages,
  redriveRequestSchema,
} from '#shared/orchestrator/index.ts';

/** For operators, who invoke it by name: what the stream's consumers gave up is published and counted again. */
export function redrivePagesHandler(deps: RedriveDeps): (event: unknown) => Promise<RedriveReport> {
  return async (event) => {
    const request = redriveRequestSchema.safeParse(event);
    if (!request.success) {
      const [issue] = request.error.issues;
      const field = issue?.path.join('.') || '(event)';
      throw new PlatformError('invalid_request', `${field}: ${issue?.message ?? 'invalid'}`, {
        field,
        remedy: 'see "What was given up" in docs/operations.md',
      });
    }
    const report = await redrivePages(deps, request.data);
    const { runs, ...rest } = report;
    deps.log.info({ action: request.data.action, runs: runs.length, ...rest }, 'redrive');
    return report;
  };
}
