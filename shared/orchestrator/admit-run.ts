import {
  type CounterShard,
  globalShards,
  type RunLimits,
  tenantShards,
  turnOf,
  type Waiter,
  type WaitList,
} from '#shared/quotas/index.ts';
import type { LaunchClaim, QuotaRequest, RunHead, RunLedger } from '#shared/runs/index.ts';
import type { RunQueue } from './ports.ts';

export interface AdmissionDeps {
  readonly ledger: RunLedger;
  readonly queue: RunQueue;
  readonly limits: RunLimits;
  readonly waitList: WaitList;
}

type Claim = Omit<Parameters<RunLedger['claimForLaunch']>[0], 'quota'>;

/**
 * ORC-6: claims a run if it is its turn and there is a slot, else lets it wait: nothing is refused because others run.
 * Within a tenant the higher priority goes first, then the older run. Whoever takes or frees a slot calls the next one,
 * so that waiting costs no polling; a call that is lost is made up for by the run's timer.
 */
export async function admitRun(deps: AdmissionDeps, claim: Claim): Promise<LaunchClaim> {
  const waiter = waiterOf(claim.head);
  if (await somebodyIsAhead(deps, waiter)) {
    const isNew = await deps.waitList.join(waiter);
    // Looked at again while it waits: perhaps a slot is free, and the call for it was lost.
    if (!isNew) await callNext(deps, waiter.tenantId);
    return { outcome: 'quota_exceeded', scope: 'tenant' };
  }
  let outcome = await claimSlot(deps, claim);
  if (outcome.outcome === 'quota_exceeded' && outcome.scope === 'tenant') {
    await deps.waitList.join(waiter);
    // A slot that was freed between the two called nobody: it did not see this run in the list.
    outcome = await claimSlot(deps, claim);
  }
  if (outcome.outcome === 'claimed') await passOn(deps, claim.head);
  return outcome;
}

/**
 * Whether it is another run's turn. Who is first but waits no more is taken off the list here too: the call that was to
 * do so may have been lost, and then nobody behind it would ever get a slot.
 */
async function somebodyIsAhead(deps: AdmissionDeps, waiter: Waiter): Promise<boolean> {
  for (;;) {
    const first = await deps.waitList.first(waiter.tenantId);
    if (!first || turnOf(first) >= turnOf(waiter)) return false;
    const head = await deps.ledger.readHead(first);
    if (head?.status === 'queued') return true;
    await deps.waitList.leave(first);
  }
}

/**
 * Takes a run that waits no more off the list if it is the first there, and calls the one behind it. A surplus message
 * of a run that left before calls nobody: else every repeat would become a message for each run behind it in turn.
 */
export async function passOn(
  deps: Pick<AdmissionDeps, 'waitList' | 'queue'>,
  head: RunHead,
): Promise<void> {
  const first = await deps.waitList.first(head.tenantId);
  if (!first) return;
  if (first.runId === head.runId) await deps.waitList.leave(first);
  else if (head.status !== 'queued') return;
  await callNext(deps, head.tenantId);
}

/** A slot of the tenant may be free: whose turn it is gets its message again. */
export async function callNext(
  deps: { readonly waitList: Pick<WaitList, 'first'>; readonly queue: RunQueue },
  tenantId: string,
): Promise<void> {
  const next = await deps.waitList.first(tenantId);
  if (next) await deps.queue.send({ schemaVersion: '1', tenantId, runId: next.runId });
}

/** Tries the tenant's counters, and for each the platform's, until one of each has room. */
async function claimSlot(deps: AdmissionDeps, claim: Claim): Promise<LaunchClaim> {
  const { tenantId, runId } = claim.head;
  const [...tenants] = tenantShards(deps.limits, tenantId, runId);
  const [...globals] = globalShards(deps.limits, runId);
  for (;;) {
    const outcome = await deps.ledger.claimForLaunch({
      ...claim,
      quota: request(tenants, globals),
    });
    if (outcome.outcome !== 'quota_exceeded') return outcome;
    const tried = outcome.scope === 'tenant' ? tenants : globals;
    tried.shift();
    if (tried.length === 0) return outcome;
  }
}

function request(
  [tenant]: readonly CounterShard[],
  [platform]: readonly CounterShard[],
): QuotaRequest {
  if (!tenant) throw new RangeError('a tenant has at least one counter');
  return {
    tenantShard: tenant.shard,
    tenantLimit: tenant.limit,
    ...(platform ? { global: platform } : {}),
  };
}

function waiterOf({ tenantId, runId, priority, createdAt, deadlineAt }: RunHead): Waiter {
  return { tenantId, runId, priority: priority ?? 'normal', createdAt, deadlineAt };
}
