import type { z } from 'zod';
import type { Caller } from '#shared/auth/index.ts';
import {
  type CreateRunRequest,
  DEFAULT_TIMEOUT_MS,
  MAX_PROMPT_BYTES,
  PlatformError,
  platformEvent,
  tripleName,
} from '#shared/contracts/index.ts';
import type { AdapterDescriptor, EngineRegistry } from '#shared/engines/index.ts';
import { type Clock, isoTime } from '#shared/kit/clock.ts';
import { stableHash } from '#shared/kit/stable-hash.ts';
import { type RunHead, type RunLedger, runIdOfKey } from '#shared/runs/index.ts';
import { resolveRunCapabilities, unavailability } from './describe-engines.ts';
import type { Ids, Logger, RunQueue } from './ports.ts';
import type { DeployedEngines, Timing } from './settings.ts';

const DEFAULT_ATTEMPTS = 3;

/**
 * ORC-1: accepts a run. The ledger has it before anything is answered; the message only makes it start sooner, since
 * the sweeper finds queued runs whose message was lost. An idempotency key names the run itself, so it is remembered
 * for as long as the run is kept.
 *
 * @throws PlatformError for a request that cannot be run as it is, naming field and remedy
 */
export async function submitRun(
  deps: {
    ledger: RunLedger;
    queue: RunQueue;
    registry: EngineRegistry;
    deployed: DeployedEngines;
    timing: Timing;
    clock: Clock;
    ids: Ids;
    log: Logger;
  },
  caller: Caller,
  body: CreateRunRequest,
  idempotencyKey: string | undefined,
): Promise<{ head: RunHead; replayed: boolean }> {
  const descriptor = deps.registry.resolve({
    engineId: body.engine.id,
    protocolId: body.engine.protocol,
    adapterVersion: body.engine.adapterVersion,
  });
  requireUsable(deps.registry, descriptor, deps.deployed, body);
  const config = parseEngineConfig(descriptor, deps.deployed, body.config);
  const promptBytes = Buffer.byteLength(body.input.prompt);
  if (promptBytes > MAX_PROMPT_BYTES) {
    throw new PlatformError(
      'payload_too_large',
      `the prompt has ${promptBytes} bytes of UTF-8; at most ${MAX_PROMPT_BYTES} are possible`,
      {
        field: 'input.prompt',
        remedy: 'shorten it, or give large material as a file the agent can read',
      },
    );
  }

  const now = deps.clock.now();
  const deadlineAt = isoTime(now + (body.timeoutMs ?? DEFAULT_TIMEOUT_MS));
  const createdAt = isoTime(now);
  const head: RunHead = {
    tenantId: caller.tenantId,
    runId:
      idempotencyKey === undefined ? deps.ids.runId() : runIdOfKey(caller.tenantId, idempotencyKey),
    engine: descriptor.triple,
    ...(body.agentId ? { agentId: body.agentId } : {}),
    ...(body.conversationId ? { conversationId: body.conversationId } : {}),
    status: 'queued',
    attempt: 0,
    epoch: 0,
    maxAttempts: body.retry?.maxAttempts ?? DEFAULT_ATTEMPTS,
    repeatable: body.retry?.repeatable ?? false,
    ...(body.priority && body.priority !== 'normal' ? { priority: body.priority } : {}),
    deadlineAt,
    usage: {},
    traceId: deps.ids.traceId(),
    createdAt,
    // Within a lease, so that the claim need not move it: an index entry less to write.
    dueAt: isoTime(
      Math.min(
        now + Math.min(deps.timing.queuedCheckMs, deps.timing.leaseMs),
        Date.parse(deadlineAt),
      ),
    ),
  };
  const created = await deps.ledger.createRun({
    head,
    specification: {
      input: body.input,
      config,
      budget: body.budget ?? {},
      denied: body.capabilities?.deny ?? [],
    },
    events: [platformEvent('run.queued', { engine: descriptor.triple }, { timestamp: createdAt })],
    bodyHash: stableHash(body),
  });
  if (created.outcome === 'idempotency_conflict') {
    throw new PlatformError(
      'idempotency_conflict',
      'this Idempotency-Key was used with another body',
      {
        field: 'Idempotency-Key',
        remedy: 'use a new key for a new run, or repeat exactly the first request',
      },
    );
  }
  // A repeat sends again too: the first request may have died between its write and its message.
  if (created.head.status === 'queued') await sendQuietly(deps, created.head);
  return { head: created.head, replayed: created.outcome === 'replayed' };
}

async function sendQuietly(deps: { queue: RunQueue; log: Logger }, head: RunHead): Promise<void> {
  try {
    await deps.queue.send({ schemaVersion: '1', tenantId: head.tenantId, runId: head.runId });
  } catch (error) {
    deps.log.warn(
      { runId: head.runId, error },
      'launch message not sent; the sweeper will send it',
    );
  }
}

function requireUsable(
  registry: EngineRegistry,
  descriptor: AdapterDescriptor,
  deployed: DeployedEngines,
  body: CreateRunRequest,
): void {
  const why = unavailability(registry, descriptor, deployed);
  if (why) {
    throw new PlatformError('engine_not_installed', why.reason, {
      field: 'engine',
      remedy: 'see GET /v1/engines for what can be used here',
    });
  }
  const layers = resolveRunCapabilities(
    registry,
    descriptor,
    deployed,
    body.capabilities?.deny ?? [],
  );
  const missing = descriptor.required.filter((capability) => !layers.effective[capability]);
  if (missing.length > 0) {
    const reasons = layers.refusals
      .filter(({ capability }) => missing.includes(capability))
      .map(({ capability, rule, reason }) => `${capability}: ${reason} (${rule})`);
    throw new PlatformError(
      'unsupported_capability',
      `${tripleName(descriptor.triple)} cannot run without ${missing.join(', ')}: ${reasons.join('; ')}`,
      { field: 'capabilities', remedy: 'allow them, or choose another engine' },
    );
  }
}

function parseEngineConfig(
  descriptor: AdapterDescriptor,
  deployed: DeployedEngines,
  given: CreateRunRequest['config'],
): z.infer<ReturnType<typeof z.json>> {
  const defaults = deployed.find(({ engineId }) => engineId === descriptor.triple.engineId);
  const parsed = descriptor.configSchema.safeParse({ ...defaults?.defaultConfig, ...given });
  if (parsed.success) return parsed.data as z.infer<ReturnType<typeof z.json>>;
  const [issue] = parsed.error.issues;
  const field = ['config', ...(issue?.path ?? [])].join('.');
  throw new PlatformError('engine_config_invalid', `${field}: ${issue?.message ?? 'invalid'}`, {
    field,
    remedy: `see configSchema of ${tripleName(descriptor.triple)} in GET /v1/engines`,
  });
}
