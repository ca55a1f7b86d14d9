/**
 * The catalogue of Lambda functions: what starts each one, what it may use, and how big it is. The CDK app makes
 * resources and grants from it, the local stack routes from it, a test holds it against the folders in `functions/`.
 */

/** What a function may use. Each use gives it exactly the grants and the environment variables named below. */
export const USES = {
  tableRead: { environment: ['TABLE_NAME'] },
  tableWrite: { environment: ['TABLE_NAME'] },
  leaveWaitList: { environment: ['TABLE_NAME'] },
  sendRuns: { environment: ['RUNS_QUEUE_URL'] },
  runTasks: {
    environment: [
      'CLUSTER_ARN',
      'TASK_DEFINITION_ARN',
      'TASK_CONTAINER_NAME',
      'TASK_SUBNETS',
      'TASK_SECURITY_GROUPS',
      'GATEWAY_URL',
    ],
  },
  stopTasks: { environment: ['CLUSTER_ARN'] },
  describeTasks: { environment: ['CLUSTER_ARN'] },
  listTasks: { environment: ['CLUSTER_ARN'] },
  signingSecret: { environment: ['SIGNING_SECRET_ID'] },
  putBlobs: { environment: ['BLOB_BUCKET'] },
  readBlobs: { environment: ['BLOB_BUCKET'] },
  tenantSecrets: { environment: ['TENANT_SECRETS_PREFIX'] },
  publishEvents: { environment: ['EVENT_BUS_NAME'] },
  reportOutboxFailures: { environment: ['OUTBOX_FAILURES_QUEUE_URL'] },
  reportUsageFailures: { environment: ['USAGE_FAILURES_QUEUE_URL'] },
  redriveFailures: { environment: ['OUTBOX_FAILURES_QUEUE_URL', 'USAGE_FAILURES_QUEUE_URL'] },
  verifyTokens: { environment: ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWKS_URL'] },
  engines: { environment: ['DEPLOYED_ENGINES'] },
  runLimits: { environment: ['RUN_LIMITS'] },
} as const satisfies Record<string, { environment: readonly string[] }>;
export type Use = keyof typeof USES;

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * `http`: a route of the public API (`authorizer: 'user'`), of the host gateway (`'execution'`: the function checks
 * ticket or execution token itself) or open (`'none'`).
 * `queue`: with partial batch answers; `visibilityTimeoutMs` is at least six times the function's timeout.
 */
export type Trigger =
  | {
      readonly kind: 'http';
      readonly api: 'public' | 'host';
      readonly method: HttpMethod;
      readonly path: string;
      readonly auth: 'user' | 'execution' | 'none';
      readonly streaming?: boolean;
    }
  | { readonly kind: 'authorizer' }
  | {
      readonly kind: 'queue';
      readonly queue: 'runs' | 'runsDeadLetter';
      readonly batchSize: number;
      readonly maxConcurrency: number;
    }
  /**
   * Only insertions of items whose attributes have one of these texts: a heartbeat's update of the head wakes nobody. A
   * stream serves two readers, no more.
   */
  | {
      readonly kind: 'tableStream';
      readonly batchSize: number;
      readonly inserts: Readonly<Record<string, readonly string[]>>;
    }
  | { readonly kind: 'schedule'; readonly everyMs: number }
  | { readonly kind: 'taskStopped' }
  /** Nothing: people invoke it by its name. */
  | { readonly kind: 'operator' };

export interface FunctionEntry {
  /** Folder below `functions/`; its `index.ts` exports `handler`. */
  readonly name: string;
  readonly trigger: Trigger;
  readonly uses: readonly Use[];
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

const api = (
  name: string,
  method: HttpMethod,
  path: string,
  uses: readonly Use[],
  extra: Partial<{ auth: 'user' | 'none'; streaming: boolean; timeoutMs: number }> = {},
): FunctionEntry => ({
  name: `api/${name}`,
  trigger: {
    kind: 'http',
    api: 'public',
    method,
    path,
    auth: extra.auth ?? 'user',
    ...(extra.streaming ? { streaming: true } : {}),
  },
  uses,
  timeoutMs: extra.timeoutMs ?? 29_000,
  memoryMb: 512,
});

const gateway = (name: string, path: string, uses: readonly Use[]): FunctionEntry => ({
  name: `gateway/${name}`,
  trigger: { kind: 'http', api: 'host', method: 'POST', path, auth: 'execution' },
  uses: ['tableWrite', 'signingSecret', ...uses],
  timeoutMs: 29_000,
  memoryMb: 512,
});

const worker = (
  name: string,
  trigger: Trigger,
  uses: readonly Use[],
  timeoutMs = 60_000,
): FunctionEntry => ({ name: `workers/${name}`, trigger, uses, timeoutMs, memoryMb: 512 });

export const FUNCTIONS: readonly FunctionEntry[] = [
  {
    name: 'api/authorize-request',
    trigger: { kind: 'authorizer' },
    uses: ['verifyTokens'],
    timeoutMs: 10_000,
    memoryMb: 256,
  },
  api('create-run', 'POST', '/v1/runs', ['tableWrite', 'sendRuns', 'engines']),
  api('list-runs', 'GET', '/v1/runs', ['tableRead']),
  api('get-run', 'GET', '/v1/runs/{runId}', ['tableRead']),
  api('cancel-run', 'POST', '/v1/runs/{runId}/cancel', ['tableWrite', 'stopTasks']),
  api('cancel-runs', 'POST', '/v1/runs/cancel', ['tableWrite', 'stopTasks']),
  api('list-run-events', 'GET', '/v1/runs/{runId}/events', ['tableRead']),
  api('stream-run-events', 'GET', '/v1/runs/{runId}/stream', ['tableRead'], {
    streaming: true,
    timeoutMs: 15 * 60_000,
  }),
  api('get-usage', 'GET', '/v1/usage', ['tableRead']),
  api('get-run-blob', 'GET', '/v1/runs/{runId}/blobs/{sha256}', ['tableRead', 'readBlobs'], {
    streaming: true,
  }),
  api('list-engines', 'GET', '/v1/engines', ['engines']),
  api('get-health', 'GET', '/v1/health', ['tableRead'], { auth: 'none' }),
  gateway('claim-run', '/host/v1/claim', ['tenantSecrets']),
  gateway('append-events', '/host/v1/runs/{runId}/events', []),
  gateway('keep-blob', '/host/v1/runs/{runId}/blobs', ['putBlobs']),
  gateway('renew-lease', '/host/v1/runs/{runId}/heartbeat', []),
  gateway('report-result', '/host/v1/runs/{runId}/result', ['sendRuns']),
  worker('dispatch-run', { kind: 'queue', queue: 'runs', batchSize: 10, maxConcurrency: 5 }, [
    'tableWrite',
    'leaveWaitList',
    'runLimits',
    'sendRuns',
    'runTasks',
    'stopTasks',
    'describeTasks',
    'listTasks',
    'signingSecret',
    'engines',
  ]),
  worker(
    'fail-dead-run',
    { kind: 'queue', queue: 'runsDeadLetter', batchSize: 10, maxConcurrency: 2 },
    ['tableWrite', 'sendRuns'],
  ),
  worker('relay-outbox', { kind: 'tableStream', batchSize: 100, inserts: { kind: ['page'] } }, [
    'tableWrite',
    'publishEvents',
    'reportOutboxFailures',
  ]),
  worker(
    'fold-usage',
    {
      kind: 'tableStream',
      batchSize: 100,
      inserts: { kind: ['page'], page: ['seal', 'final'] },
    },
    ['tableWrite', 'reportUsageFailures'],
  ),
  worker(
    'redrive-pages',
    { kind: 'operator' },
    ['tableWrite', 'publishEvents', 'redriveFailures'],
    5 * 60_000,
  ),
  worker('settle-stopped-task', { kind: 'taskStopped' }, ['tableWrite', 'sendRuns']),
  // Looks several times within its minute; the last look may take longer than what is left of it.
  worker(
    'sweep-due-runs',
    { kind: 'schedule', everyMs: 60_000 },
    ['tableWrite', 'sendRuns', 'stopTasks', 'describeTasks', 'listTasks'],
    90_000,
  ),
];

/** The environment variables a function reads, without repeats. */
export function environmentOf(entry: FunctionEntry): string[] {
  return [...new Set(entry.uses.flatMap((use) => USES[use].environment))];
}
