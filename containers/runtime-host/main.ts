import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import pino from 'pino';
import { ENGINE_ADAPTERS } from '#shared/engines/adapters.ts';
import { systemClock } from '#shared/kit/clock.ts';
import { detectSandbox } from '#shared/process/index.ts';
import {
  DEFAULT_HOST_LIMITS,
  GatewayClient,
  openDiskSpool,
  runHost,
  superviseEngines,
} from '#shared/runtime/index.ts';
import project from '../../package.json' with { type: 'json' };
import { readTaskEnv } from './task-env.ts';

/** 0: the result was reported. 3: the run belongs to somebody else. 4: the gateway could not be reached. */
const EXIT_CODES = { reported: 0, authority_lost: 3, unreachable: 4 } as const;

const log = pino({
  name: 'runtime-host',
  base: {},
  serializers: { error: pino.stdSerializers.errWithCause },
});
const taskStopping = new AbortController();
process.on('SIGTERM', () => taskStopping.abort());
process.on('SIGINT', () => taskStopping.abort());

const env = readTaskEnv(process.env);
// The ticket is in this process's environment for as long as it lives; it is dead after the claim.
const { sandbox, probes } = await detectSandbox({
  platform: env.platform,
  // A deployment that names its sandbox gets that one or none: never a weaker one in its place.
  ...(env.sandbox ? { required: env.sandbox } : {}),
  ...(env.bwrapPath ? { bwrapPath: env.bwrapPath } : {}),
});
log.info({ sandbox: sandbox.kind, probes }, 'sandbox chosen');

const limits = { ...DEFAULT_HOST_LIMITS, graceMs: env.graceMs, spoolBytes: env.spoolBytes };
const outcome = await runHost({
  gateway: new GatewayClient({
    baseUrl: env.gatewayUrl,
    clock: systemClock,
    retryForMs: env.gatewayRetryMs,
  }),
  ticket: env.ticket,
  hostInstanceId: randomUUID(),
  hostVersion: project.version,
  sandbox: sandbox.kind,
  startEngine: superviseEngines({
    adapters: ENGINE_ADAPTERS,
    locations: {
      programsRoot: env.programsRoot,
      nodePath: process.execPath,
      platform: env.platform,
      arch: env.arch,
    },
    sandbox,
    workRoot: env.workRoot,
    limits,
    clock: systemClock,
    secrets: [env.ticket],
  }),
  spool: { store: openDiskSpool(tmpdir()), bytes: limits.spoolBytes },
  hostRssBytes: () => process.memoryUsage.rss(),
  onFault: (error) => log.error({ error }, 'fault of the host'),
  clock: systemClock,
  taskStopping: taskStopping.signal,
});
log.info(outcome, 'done');
process.exit(EXIT_CODES[outcome.outcome]);
