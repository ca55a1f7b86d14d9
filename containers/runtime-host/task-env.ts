import { arch, platform } from 'node:process';
import { z } from 'zod';
import { SANDBOX_KINDS } from '#shared/process/index.ts';
import { TASK_ENVIRONMENT } from '#shared/topology/index.ts';

const taskEnvSchema = z.object({
  [TASK_ENVIRONMENT.gatewayUrl]: z.url(),
  [TASK_ENVIRONMENT.ticket]: z.string().min(20),
  /** Below it the runs' private directories are made. */
  NEXUSDESK_WORK_ROOT: z.string().min(1),
  /** Folder with one sub-folder for each installed engine. */
  NEXUSDESK_PROGRAMS_ROOT: z.string().min(1),
  /** The only one that will do; left out: the strongest that works here. */
  NEXUSDESK_SANDBOX: z.enum(SANDBOX_KINDS).optional(),
  NEXUSDESK_BWRAP: z.string().optional(),
  /** How long the host tries to claim its run at a gateway that fails. */
  NEXUSDESK_GATEWAY_RETRY_MS: z.coerce.number().int().min(1_000).default(120_000),
  /** Between the polite signal to an engine and SIGKILL. */
  NEXUSDESK_GRACE_MS: z.coerce.number().int().min(0).default(5_000),
  /** Events kept on disk while the gateway takes none. */
  NEXUSDESK_SPOOL_BYTES: z.coerce
    .number()
    .int()
    .min(0)
    .default(64 * 1024 * 1024),
});

/** What a task is told. @throws naming the variable that is missing or wrong, never its value */
export function readTaskEnv(env: NodeJS.ProcessEnv) {
  const parsed = taskEnvSchema.safeParse(env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.')}: ${message}`,
    );
    throw new Error(`environment of this task is wrong: ${problems.join('; ')}`);
  }
  const values = parsed.data;
  return {
    gatewayUrl: values[TASK_ENVIRONMENT.gatewayUrl],
    ticket: values[TASK_ENVIRONMENT.ticket],
    workRoot: values.NEXUSDESK_WORK_ROOT,
    programsRoot: values.NEXUSDESK_PROGRAMS_ROOT,
    sandbox: values.NEXUSDESK_SANDBOX,
    bwrapPath: values.NEXUSDESK_BWRAP,
    gatewayRetryMs: values.NEXUSDESK_GATEWAY_RETRY_MS,
    graceMs: values.NEXUSDESK_GRACE_MS,
    spoolBytes: values.NEXUSDESK_SPOOL_BYTES,
    platform,
    arch,
  };
}
