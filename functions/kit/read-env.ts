import { z } from 'zod';
import {
  type DeployedEngines,
  deployedEnginesSchema,
  type Timing,
  timingSchema,
} from '#shared/orchestrator/index.ts';
import { type RunLimits, runLimitsSchema } from '#shared/quotas/index.ts';

/** JSON text in a variable, parsed by a schema of its own. */
const jsonText = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((text, context) => {
      try {
        return JSON.parse(text) as unknown;
      } catch {
        context.addIssue({ code: 'custom', message: 'is not valid JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

const list = z.string().transform((text) => text.split(',').filter(Boolean));

/** Every variable a function may be given; each function picks its own with {@link readEnv}. */
const VARIABLES = {
  TABLE_NAME: z.string().min(1),
  RUNS_QUEUE_URL: z.url(),
  CLUSTER_ARN: z.string().min(1),
  TASK_DEFINITION_ARN: z.string().min(1),
  TASK_CONTAINER_NAME: z.string().min(1),
  TASK_SUBNETS: list,
  TASK_SECURITY_GROUPS: list,
  GATEWAY_URL: z.url(),
  SIGNING_SECRET_ID: z.string().min(1),
  TENANT_SECRETS_PREFIX: z.string().min(1),
  BLOB_BUCKET: z.string().min(1),
  EVENT_BUS_NAME: z.string().min(1),
  OUTBOX_FAILURES_QUEUE_URL: z.url(),
  USAGE_FAILURES_QUEUE_URL: z.url(),
  JWT_ISSUER: z.url(),
  JWT_AUDIENCE: z.string().min(1),
  JWKS_URL: z.url(),
  RUN_LIMITS: jsonText(runLimitsSchema) as z.ZodType<RunLimits>,
  DEPLOYED_ENGINES: jsonText(deployedEnginesSchema) as z.ZodType<DeployedEngines>,
} as const;
type Variables = typeof VARIABLES;

/**
 * Reads the named variables, or fails at cold start naming the one that is wrong. Values are not printed: they may
 * be secrets.
 */
export function readEnv<K extends keyof Variables>(
  ...names: readonly K[]
): { [N in K]: z.infer<Variables[N]> } {
  const shape = Object.fromEntries(names.map((name) => [name, VARIABLES[name]]));
  const parsed = z.object(shape).safeParse(process.env);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.')}: ${message}`,
    );
    throw new Error(`environment of this function is wrong: ${problems.join('; ')}`);
  }
  return parsed.data as { [N in K]: z.infer<Variables[N]> };
}

/** `RUN_TIMING` is optional JSON: a laptop looks more often than the cloud needs to. */
export function readTiming(): Timing {
  return timingSchema.parse(JSON.parse(process.env.RUN_TIMING ?? '{}'));
}
