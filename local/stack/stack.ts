import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import { startApiFront } from '#local/api-front/index.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { demoScript, startScriptedModelServer } from '#local/model-server/index.ts';
import { TASK_CONTAINER_NAME } from '#shared/topology/index.ts';
import { openDataFolder, readPorts, writeConnection, writePorts } from './data-folder.ts';
import { DEV_AUDIENCE, DEV_TENANT, openDevIssuer } from './dev-issuer.ts';
import { chooseModel, deployedEngines, engineLocations, type ModelChoice } from './engines.ts';
import { findBundledBwrap } from './find-bwrap.ts';
import { functionOf, loadFunctions, operatorFunctions, startSources } from './functions.ts';
import { freePort } from './ports.ts';
import { platformQueues, provision, TENANT_SECRETS_PREFIX } from './provision.ts';
import { apiRoutes } from './routes.ts';
import { sdkEnvironment, startServices } from './services.ts';
import { deliverToFunctions } from './targets.ts';

export interface StackOptions {
  readonly projectRoot: string;
  readonly dataDir: string;
  /** Of the API; left out: the one used before, else 4520 or a free one. */
  readonly port?: number | undefined;
  readonly env: NodeJS.ProcessEnv;
}

export interface Stack {
  readonly url: string;
  readonly token: string;
  readonly dataDir: string;
  readonly workdirs: string;
  readonly logFile: string;
  readonly model: ModelChoice;
  readonly engines: readonly { engineId: string; version: string }[];
  /** Stops runs politely, then everything else. */
  close(): Promise<void>;
}

const PREFERRED_API_PORT = 4_520;
const SWEEP_EVERY_MS = 5_000;
/** A person watches: everything is looked at more often than in the cloud. */
const LOCAL_TIMING = {
  // One look in each invocation, of which there are enough.
  sweepEveryMs: SWEEP_EVERY_MS,
  sweepForMs: SWEEP_EVERY_MS,
  orphanCheckMs: 20_000,
  orphanGraceMs: 20_000,
  silentStopMs: 900_000,
  launchLeaseMs: 60_000,
  leaseMs: 15_000,
  heartbeatEveryMs: 2_000,
  queuedCheckMs: 20_000,
  queuedCheckMaxMs: 60_000,
  cancelCheckMs: 10_000,
  deadlineGraceMs: 20_000,
  requeueBaseMs: 500,
  quotaWaitMs: 1_000,
};
/** Longer than an engine's grace and the report of its result. */
const STOP_TIMEOUT_SECONDS = 30;

/**
 * The platform in one process: the same functions, the same host and the same SDK calls as in the cloud, on embedded
 * services. Safe to kill at any moment: started again on the same folder it goes on where it was.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const folder = openDataFolder(options.dataDir);
  const log = pino({ name: 'local-stack', base: {} }, pino.destination(folder.logFile));
  const state = openStateDatabase(folder.stateFile);
  const known = readPorts(folder);
  const ports = {
    api: options.port ?? known?.api ?? (await freePort(PREFERRED_API_PORT)),
    aws: known?.aws ?? (await freePort()),
    model: known?.model ?? (await freePort()),
  };
  writePorts(folder, ports);
  const url = `http://127.0.0.1:${ports.api}`;
  const offlineKey = `offline-${randomBytes(12).toString('hex')}`;
  const model = await startScriptedModelServer({ script: demoScript, port: ports.model });

  const functions = loadFunctions({
    projectRoot: options.projectRoot,
    onError: (name, requestId, error) => log.error({ name, requestId, error }, 'function failed'),
  });
  const stopping = new AbortController();
  const ready = Promise.withResolvers<void>();
  const locations = engineLocations(options.projectRoot);
  const services = await startServices({
    folder,
    state,
    port: ports.aws,
    host: {
      command: [process.execPath, join(options.projectRoot, 'containers/runtime-host/main.ts')],
      cwd: options.projectRoot,
      env: hostEnvironment(options, folder.workdirs, locations.programsRoot, folder.path),
    },
    operators: operatorFunctions(functions, ready.promise),
    deliver: deliverToFunctions({ functions, ready: ready.promise, signal: stopping.signal }),
  });

  Object.assign(process.env, sdkEnvironment(services.endpoint.url));
  const provisioned = await provision({
    signingSecret: () => randomBytes(32).toString('base64url'),
    stopTimeoutSeconds: STOP_TIMEOUT_SECONDS,
  });
  const issuer = await openDevIssuer(state, url);
  const choice = await chooseModel(options.env, { baseUrl: model.baseUrl, apiKey: offlineKey });
  const engines = await deployedEngines(locations, choice);
  Object.assign(process.env, {
    TABLE_NAME: provisioned.tableName,
    RUNS_QUEUE_URL: provisioned.runsQueueUrl,
    CLUSTER_ARN: provisioned.clusterArn,
    TASK_DEFINITION_ARN: provisioned.taskDefinitionArn,
    TASK_CONTAINER_NAME,
    TASK_SUBNETS: 'subnet-local',
    TASK_SECURITY_GROUPS: 'sg-local',
    GATEWAY_URL: url,
    SIGNING_SECRET_ID: provisioned.signingSecretId,
    TENANT_SECRETS_PREFIX,
    BLOB_BUCKET: provisioned.blobBucket,
    EVENT_BUS_NAME: provisioned.busName,
    OUTBOX_FAILURES_QUEUE_URL: provisioned.failureQueueUrls['workers/relay-outbox'],
    USAGE_FAILURES_QUEUE_URL: provisioned.failureQueueUrls['workers/fold-usage'],
    JWT_ISSUER: issuer.issuer,
    JWT_AUDIENCE: DEV_AUDIENCE,
    JWKS_URL: `${url}${issuer.jwksPath}`,
    DEPLOYED_ENGINES: JSON.stringify(engines),
    ...runSettings(options.env),
    LOG_FILE: folder.logFile,
  });
  ready.resolve();

  const front = await startApiFront({
    port: ports.api,
    routes: apiRoutes(functions),
    authorizers: { user: functionOf(functions, 'api/authorize-request') },
    extra: (request, response) => {
      if (request.url !== issuer.jwksPath) return false;
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(issuer.jwks));
      return true;
    },
  });
  // Whoever had received them died with the stack before this one; nobody else reads these queues.
  for (const queue of platformQueues(provisioned)) services.sqs.takeBack(queue);
  const sources = startSources({ functions, provisioned, state, sweepEveryMs: SWEEP_EVERY_MS });
  const { token, expiresAt } = await issuer.issue({ tenantId: DEV_TENANT, subject: 'developer' });
  writeConnection(folder, { url, token, expiresAt });
  log.info(
    { url, engines: engines.map(({ engineId, version }) => `${engineId} ${version}`) },
    'stack started',
  );

  return {
    url,
    token,
    dataDir: folder.path,
    workdirs: folder.workdirs,
    logFile: folder.logFile,
    model: choice,
    engines,
    async close() {
      // Hosts still report through the gateway while their tasks are being stopped.
      await services.ecs.shutdown({ graceMs: STOP_TIMEOUT_SECONDS * 1000 });
      stopping.abort();
      await Promise.all(sources.map((source) => source.stop()));
      await front.close();
      await services.close();
      await model.close();
      state.close();
      folder.release();
      log.info('stack stopped');
    },
  };
}

/** `NEXUSDESK_TIMING`: JSON of what is to differ; `NEXUSDESK_TENANT_RUNS`: runs of a tenant at once. */
function runSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  const { NEXUSDESK_TIMING: timing = '{}', NEXUSDESK_TENANT_RUNS: runs } = env;
  return {
    RUN_TIMING: JSON.stringify({ ...LOCAL_TIMING, ...(JSON.parse(timing) as object) }),
    RUN_LIMITS: JSON.stringify(runs ? { perTenant: Number(runs) } : {}),
  };
}

/** A task starts from exactly this; nothing of the developer's own environment reaches an engine. */
function hostEnvironment(
  options: StackOptions,
  workRoot: string,
  programsRoot: string,
  dataDir: string,
): Record<string, string> {
  const { env } = options;
  const bwrap = findBundledBwrap(programsRoot, env.PATH);
  return {
    PATH: env.PATH ?? '/usr/bin:/bin',
    NEXUSDESK_WORK_ROOT: workRoot,
    NEXUSDESK_PROGRAMS_ROOT: programsRoot,
    NODE_COMPILE_CACHE: join(dataDir, 'compile-cache'),
    ...(bwrap ? { NEXUSDESK_BWRAP: bwrap } : {}),
    ...pick(env, ['NEXUSDESK_SANDBOX', 'NEXUSDESK_BWRAP', 'NEXUSDESK_GRACE_MS', 'TZ']),
  };
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}
