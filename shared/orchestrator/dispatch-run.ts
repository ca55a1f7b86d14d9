import type { ExecutionTokens } from '#shared/auth/index.ts';
import {
  type ExecutionRequest,
  executionError,
  type LaunchMessage,
  PlatformError,
} from '#shared/contracts/index.ts';
import type { EngineRegistry } from '#shared/engines/index.ts';
import { isoTime } from '#shared/kit/clock.ts';
import type { AttemptSnapshot, RunHead, RunRef } from '#shared/runs/index.ts';
import { resolveRunCapabilities, unavailability } from './describe-engines.ts';
import type { Logger, RunQueue, TaskLauncher } from './ports.ts';
import { type DeployedEngines, POLICY_VERSION, TENANT_RUN_LIMIT } from './settings.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';

export interface DispatchDeps extends SettleDeps {
  readonly queue: RunQueue;
  readonly launcher: TaskLauncher;
  readonly tokens: ExecutionTokens;
  readonly registry: EngineRegistry;
  readonly deployed: DeployedEngines;
  readonly log: Logger;
}

/** What became of a message; every outcome is an acknowledgement. A fault that may pass is thrown instead. */
export type DispatchOutcome =
  | 'launched'
  | 'nothing_to_do'
  | 'waiting_for_quota'
  | 'ended'
  | 'requeued'
  | 'not_found';

/**
 * ORC-2, ORC-3: claims a queued run and launches its task. Safe to repeat after a crash at any point: a run that was
 * claimed and has no task yet is launched again under the same identity, and the control plane answers the same task.
 */
export async function dispatchRun(
  deps: DispatchDeps,
  message: LaunchMessage,
): Promise<DispatchOutcome> {
  const ref: RunRef = { tenantId: message.tenantId, runId: message.runId };
  const head = await deps.ledger.readHead(ref);
  if (!head) return 'not_found';
  if (head.status === 'starting' && !head.taskArn) return relaunch(deps, head);
  if (head.status !== 'queued') return 'nothing_to_do';
  if (Date.parse(head.deadlineAt) <= deps.clock.now()) {
    return ended(await settleRun(deps, ref, { kind: 'deadline_passed', task: 'missing' }));
  }

  const prepared = await prepareAttempt(deps, head);
  const now = deps.clock.now();
  const claim = await deps.ledger.claimForLaunch({
    head,
    snapshot: prepared.snapshot,
    leaseExpiresAt: isoTime(now + deps.timing.launchLeaseMs),
    quotaLimit: TENANT_RUN_LIMIT,
    now: isoTime(now),
  });
  switch (claim.outcome) {
    case 'quota_exceeded':
      await deps.queue.send(message, { delayMs: deps.timing.quotaWaitMs });
      return 'waiting_for_quota';
    case 'lost':
      // Another delivery was faster, the run was cancelled, or this claim itself landed and its answer was lost. A
      // claimed run without a task is launched by whoever sees it: all of them ask for the same task.
      return claim.head?.status === 'starting' && !claim.head.taskArn
        ? relaunch(deps, claim.head)
        : 'nothing_to_do';
    case 'claimed':
      if (prepared.refused) {
        return ended(
          await settleRun(deps, ref, {
            kind: 'launch_failed',
            epoch: claim.head.epoch,
            error: prepared.refused,
            permanent: true,
          }),
        );
      }
      return launch(deps, claim.head);
  }
}

/** Resolves again at every attempt: what a deployment or policy allows may have changed since acceptance. */
async function prepareAttempt(
  deps: DispatchDeps,
  head: RunHead,
): Promise<{ snapshot: AttemptSnapshot; refused?: ReturnType<typeof executionError> }> {
  const specification = await deps.ledger.readSpecification(head);
  if (!specification) throw new PlatformError('internal', `run ${head.runId} has no specification`);
  const descriptor = deps.registry.resolve(head.engine);
  const layers = resolveRunCapabilities(
    deps.registry,
    descriptor,
    deps.deployed,
    specification.denied,
  );
  const request: ExecutionRequest = {
    schemaVersion: '1',
    executionId: head.runId,
    tenantId: head.tenantId,
    ...(head.agentId ? { agentId: head.agentId } : {}),
    ...(head.conversationId ? { conversationId: head.conversationId } : {}),
    attempt: head.attempt + 1,
    engine: head.engine,
    input: specification.input,
    config: specification.config,
    capabilities: layers,
    budget: specification.budget,
    deadlineAt: head.deadlineAt,
    trace: { traceId: head.traceId },
  };
  const snapshot: AttemptSnapshot = {
    request,
    policyVersion: POLICY_VERSION,
    credentialNames: descriptor.credentialNames(specification.config),
  };
  const why = unavailability(deps.registry, descriptor, deps.deployed);
  return why
    ? { snapshot, refused: executionError('engine_not_installed', why.reason) }
    : { snapshot };
}

function relaunch(deps: DispatchDeps, head: RunHead): Promise<DispatchOutcome> {
  deps.log.info({ runId: head.runId, epoch: head.epoch }, 'claimed before, launching again');
  return launch(deps, head);
}

async function launch(deps: DispatchDeps, head: RunHead): Promise<DispatchOutcome> {
  const ticket = deps.tokens.signTicket({
    tenantId: head.tenantId,
    runId: head.runId,
    epoch: head.epoch,
    expiresAtMs: Date.parse(head.deadlineAt),
  });
  const launched = await deps.launcher.launch({ ref: head, epoch: head.epoch, ticket });
  if (launched.outcome === 'refused') {
    deps.log.warn({ runId: head.runId, error: launched.error }, 'launch refused');
    return ended(
      await settleRun(deps, head, {
        kind: 'launch_failed',
        epoch: head.epoch,
        error: launched.error,
        permanent: launched.permanent,
      }),
    );
  }
  const recorded = await deps.ledger.recordTask(head, head.epoch, launched.taskArn);
  if (recorded.outcome === 'refused' || recorded.head.status === 'cancelling') {
    // Cancelled or taken away while the task was being launched: nobody else knows its name.
    await deps.launcher.stop(launched.taskArn, 'the run ended while its task was being launched');
  }
  return 'launched';
}

function ended(settlement: Awaited<ReturnType<typeof settleRun>>): DispatchOutcome {
  switch (settlement.outcome) {
    case 'ended':
    case 'requeued':
    case 'not_found':
      return settlement.outcome;
    case 'stayed':
      return 'nothing_to_do';
  }
}
