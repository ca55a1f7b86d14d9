import type { ExecutionTokens } from '#shared/auth/index.ts';
import { executionError, type LaunchMessage, PlatformError } from '#shared/contracts/index.ts';
import type { EngineRegistry } from '#shared/engines/index.ts';
import { isoTime } from '#shared/kit/clock.ts';
import type { AttemptTerms, RunHead, RunRef } from '#shared/runs/index.ts';
import { resolveRunCapabilities, unavailability } from './describe-engines.ts';
import type { Logger, RunQueue, TaskLauncher } from './ports.ts';
import { type DeployedEngines, POLICY_VERSION, TENANT_RUN_LIMIT } from './settings.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';
import { settleTaskStop } from './settle-task-stop.ts';

export interface DispatchDeps extends SettleDeps {
  readonly queue: RunQueue;
  readonly launcher: TaskLauncher;
  readonly tokens: ExecutionTokens;
  readonly registry: EngineRegistry;
  readonly deployed: DeployedEngines;
  /** Runs of one tenant at once; left out: {@link TENANT_RUN_LIMIT}. */
  readonly tenantRunLimit?: number;
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

  const terms = await termsOfAttempt(deps, head);
  const now = deps.clock.now();
  const claim = await deps.ledger.claimForLaunch({
    head,
    terms,
    quota: { tenantShard: 0, tenantLimit: deps.tenantRunLimit ?? TENANT_RUN_LIMIT },
    leaseExpiresAt: isoTime(now + deps.timing.launchLeaseMs),
    dueBy: isoTime(Math.min(now + deps.timing.leaseMs, Date.parse(head.deadlineAt))),
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
      return claim.head.taskArn ? 'nothing_to_do' : launch(deps, claim.head);
  }
}

/** Resolved again at every attempt: what a deployment or policy allows may have changed since acceptance. */
async function termsOfAttempt(deps: DispatchDeps, head: RunHead): Promise<AttemptTerms> {
  const specification = await deps.ledger.readSpecification(head);
  if (!specification) throw new PlatformError('internal', `run ${head.runId} has no specification`);
  const descriptor = deps.registry.resolve(head.engine);
  return {
    capabilities: resolveRunCapabilities(
      deps.registry,
      descriptor,
      deps.deployed,
      specification.denied,
    ),
    policyVersion: POLICY_VERSION,
    credentialNames: descriptor.credentialNames(specification.config),
  };
}

function relaunch(deps: DispatchDeps, head: RunHead): Promise<DispatchOutcome> {
  deps.log.info({ runId: head.runId, epoch: head.epoch }, 'claimed before, launching again');
  return launch(deps, head);
}

async function launch(deps: DispatchDeps, head: RunHead): Promise<DispatchOutcome> {
  const missing = unavailability(deps.registry, deps.registry.resolve(head.engine), deps.deployed);
  if (missing) {
    return ended(
      await settleRun(deps, head, {
        kind: 'launch_failed',
        epoch: head.epoch,
        error: executionError('engine_not_installed', missing.reason),
        permanent: true,
      }),
    );
  }
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
  if (launched.outcome === 'stopped') {
    return ended(await settleTaskStop(deps, { ...head, epoch: head.epoch }, launched.stop));
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
