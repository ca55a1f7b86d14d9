import type { ExecutionTokens } from '#shared/auth/index.ts';
import {
  type ExecutionError,
  executionError,
  type LaunchMessage,
  PlatformError,
} from '#shared/contracts/index.ts';
import type { EngineRegistry } from '#shared/engines/index.ts';
import { backoffMs } from '#shared/kit/backoff.ts';
import { isoTime } from '#shared/kit/clock.ts';
import type { RunLimits, WaitList } from '#shared/quotas/index.ts';
import type { AttemptTerms, RunHead, RunRef } from '#shared/runs/index.ts';
import { admitRun, callNext, passOn } from './admit-run.ts';
import { resolveRunCapabilities, unavailability } from './describe-engines.ts';
import type { Logger, RunQueue, TaskLauncher } from './ports.ts';
import { type DeployedEngines, POLICY_VERSION } from './settings.ts';
import { type SettleDeps, settleRun } from './settle-run.ts';
import { settleTaskStop } from './settle-task-stop.ts';

export interface DispatchDeps extends SettleDeps {
  readonly queue: RunQueue;
  readonly launcher: TaskLauncher;
  readonly tokens: ExecutionTokens;
  readonly registry: EngineRegistry;
  readonly deployed: DeployedEngines;
  readonly limits: RunLimits;
  readonly waitList: WaitList;
  readonly log: Logger;
}

/** What became of a message; every outcome is an acknowledgement. A fault that may pass is thrown instead. */
export type DispatchOutcome =
  | 'launched'
  | 'nothing_to_do'
  | 'waiting_for_quota'
  /** The control plane has no room for a task now. */
  | 'waiting_for_room'
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
  if (head.status !== 'queued') {
    await passOn(deps, head);
    return 'nothing_to_do';
  }
  if (Date.parse(head.deadlineAt) <= deps.clock.now()) {
    return ended(await settleRun(deps, ref, { kind: 'deadline_passed', task: 'missing' }));
  }

  const terms = await termsOfAttempt(deps, head);
  const now = deps.clock.now();
  const claim = await admitRun(deps, {
    head,
    terms,
    leaseExpiresAt: isoTime(now + deps.timing.launchLeaseMs),
    dueBy: isoTime(Math.min(now + deps.timing.leaseMs, Date.parse(head.deadlineAt))),
    now: isoTime(now),
  });
  switch (claim.outcome) {
    case 'quota_exceeded':
      if (claim.scope === 'global') await lookAgain(deps, head);
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
    if (!launched.permanent) return waitForRoom(deps, head, launched.error);
    return ended(
      await settleRun(deps, head, {
        kind: 'launch_failed',
        epoch: head.epoch,
        error: launched.error,
        permanent: true,
      }),
    );
  }
  if (launched.outcome === 'stopped') return ended(await settleTaskStop(deps, head, launched.stop));
  const recorded = await deps.ledger.recordTask(head, head.epoch, launched.taskArn);
  if (recorded.outcome === 'refused' || recorded.head.status === 'cancelling') {
    // Cancelled or taken away while the task was being launched: nobody else knows its name.
    await deps.launcher.stop(launched.taskArn, 'the run ended while its task was being launched');
  }
  return 'launched';
}

/**
 * A run that waits for its tenant is called when a slot is free. Nobody calls one that waits for the whole platform: its
 * timer makes the sweeper send its message. A message of its own would be one more for every repeat of this one.
 */
async function lookAgain({ ledger, clock, timing }: DispatchDeps, head: RunHead): Promise<void> {
  const at = isoTime(clock.now() + timing.quotaWaitMs);
  if (head.dueAt && at < head.dueAt) await ledger.moveTimer(head, head.dueAt, at);
}

/**
 * No task was made, so there was no attempt: the claim is given back and the run waits, longer each time. Not when it
 * was cancelled meanwhile, or when another delivery has launched it.
 */
async function waitForRoom(
  deps: DispatchDeps,
  head: RunHead,
  error: ExecutionError,
): Promise<DispatchOutcome> {
  const { timing, clock } = deps;
  const delayMs = Math.max(
    timing.requeueBaseMs,
    // Epochs count claims, attempts those of them that made a task.
    backoffMs(head.epoch - head.attempt, {
      baseMs: timing.requeueBaseMs,
      maxMs: timing.roomWaitMs,
    }),
  );
  const timerMs = clock.now() + delayMs + timing.queuedCheckMs;
  const dueAt = isoTime(Math.min(timerMs, Date.parse(head.deadlineAt)));
  const released = await deps.ledger.releaseClaim({ head, dueAt });
  if (released.outcome === 'applied') {
    const { tenantId, runId } = head;
    await deps.queue.send({ schemaVersion: '1', tenantId, runId }, { delayMs });
    // Its slot is free while it waits. A call that fails is made up for by the timer of the run that waits.
    await callNext(deps, tenantId).catch(() => {});
    return 'waiting_for_room';
  }
  if (released.head?.status !== 'cancelling' || released.head.taskArn) return 'nothing_to_do';
  const evidence = { kind: 'launch_failed', epoch: head.epoch, error, permanent: false } as const;
  return ended(await settleRun(deps, head, evidence));
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
