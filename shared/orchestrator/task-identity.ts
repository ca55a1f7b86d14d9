import { runIdSchema, tenantIdSchema } from '#shared/contracts/index.ts';
import { stableHash } from '#shared/kit/stable-hash.ts';
import type { RunRef } from '#shared/runs/index.ts';

/** The control plane's limit for `startedBy`. */
const MAX_LENGTH = 128;

/**
 * Names the attempt a task was started for: `run/epoch/tenant` in `startedBy`, at most 26+4+1+10+1+64 characters. It is
 * a name for the way back from a task event to the run, never an authority.
 */
export function taskStartedBy(ref: RunRef, epoch: number): string {
  const name = `${ref.runId}/${epoch}/${ref.tenantId}`;
  if (name.length > MAX_LENGTH) throw new RangeError(`startedBy of ${name} is too long`);
  return name;
}

export function executionScopeOfTask(
  startedBy: string | undefined,
): (RunRef & { epoch: number }) | undefined {
  const [run, epoch, tenant, ...rest] = startedBy?.split('/') ?? [];
  const runId = runIdSchema.safeParse(run);
  const tenantId = tenantIdSchema.safeParse(tenant);
  if (
    !runId.success ||
    !tenantId.success ||
    rest.length > 0 ||
    !/^[1-9][0-9]{0,9}$/.test(epoch ?? '')
  ) {
    return undefined;
  }
  return { runId: runId.data, tenantId: tenantId.data, epoch: Number(epoch) };
}

/** The control plane answers the same task for the same token; another attempt is another token. */
export function launchToken(ref: RunRef, epoch: number): string {
  return stableHash({ tenantId: ref.tenantId, runId: ref.runId, epoch }).slice(0, 64);
}
