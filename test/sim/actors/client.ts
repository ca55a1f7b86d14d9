import type { Kernel } from '../kernel/kernel.ts';
import type { Faults } from '../world/faults.ts';
import type { Network, Reply, Request } from '../world/network.ts';
import { promptOf, type RunPlan } from './run-plan.ts';

/** What clients were told: the platform's promises. */
export interface ClientWitness {
  /** 202 for a post: from now on the run must not be lost. */
  accepted(plan: RunPlan, runId: string): void;
  /** 202 or 200 for a cancel. */
  cancelAccepted(runId: string, status: string): void;
  /** An answer that no client should get. */
  wrongAnswer(what: string, reply: Reply): void;
  startReader(tenantId: string, runId: string): void;
}

interface ClientWorld {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly network: Network;
  readonly witness: ClientWitness;
  readonly ended: () => void;
}

const TIMEOUT_MS = 20_000;
const TRIES = 12;

/** Posts a run, repeats what was not answered, cancels, and looks at it. */
export function startClient(world: ClientWorld, plan: RunPlan): void {
  const actor = world.kernel.newActor('client');
  world.kernel.afterFor(actor, plan.postAtMs, () =>
    world.kernel.start(
      actor,
      () => live(world, plan),
      (ending) => {
        if ('error' in ending) world.kernel.fault(ending.error);
        world.ended();
      },
    ),
  );
}

async function live(world: ClientWorld, plan: RunPlan): Promise<void> {
  const runId = await post(world, plan);
  if (!runId) return;
  await Promise.all([
    repost(world, plan, runId),
    follow(world, plan, runId),
    ...plan.cancels.map((cancel) => cancelLater(world, plan, runId, cancel)),
    look(world, plan, runId),
  ]);
}

async function post(world: ClientWorld, plan: RunPlan): Promise<string | undefined> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const reply = await ask(world, plan, {
      method: 'POST',
      path: '/v1/runs',
      headers: {
        'content-type': 'application/json',
        ...(plan.idempotencyKey ? { 'idempotency-key': plan.idempotencyKey } : {}),
      },
      body: JSON.stringify({
        engine: { id: 'local_test' },
        input: { prompt: promptOf(plan) },
        timeoutMs: plan.timeoutMs,
        retry: { maxAttempts: plan.maxAttempts, repeatable: plan.repeatable },
      }),
    });
    if (reply?.status === 202) {
      const { executionId } = JSON.parse(reply.body) as { executionId: string };
      world.witness.accepted(plan, executionId);
      return executionId;
    }
    if (reply && !isTransient(reply)) world.witness.wrongAnswer('post', reply);
    // Without a key nobody can tell a repeat from another run.
    if (!plan.idempotencyKey) return undefined;
    await pause(200 * 2 ** Math.min(attempt, 6));
  }
  return undefined;
}

async function follow(world: ClientWorld, plan: RunPlan, runId: string): Promise<void> {
  if (plan.readAfterMs === undefined) return;
  await pause(plan.readAfterMs);
  world.witness.startReader(plan.tenantId, runId);
}

async function repost(world: ClientWorld, plan: RunPlan, runId: string): Promise<void> {
  if (plan.repostAfterMs === undefined || !plan.idempotencyKey) return;
  await pause(plan.repostAfterMs);
  const again = await post(world, plan);
  if (again !== undefined && again !== runId) {
    world.witness.wrongAnswer('repeat of a post', { status: 202, body: `${again}, not ${runId}` });
  }
  await conflict(world, plan);
}

/** The same key with another body must be refused. */
async function conflict(world: ClientWorld, plan: RunPlan): Promise<void> {
  const reply = await ask(world, plan, {
    method: 'POST',
    path: '/v1/runs',
    headers: { 'content-type': 'application/json', 'idempotency-key': plan.idempotencyKey ?? '' },
    body: JSON.stringify({ engine: { id: 'local_test' }, input: { prompt: 'something else' } }),
  });
  if (reply && !isTransient(reply) && reply.status !== 409) {
    world.witness.wrongAnswer('another body with the same key', reply);
  }
}

async function cancelLater(
  world: ClientWorld,
  plan: RunPlan,
  runId: string,
  cancel: RunPlan['cancels'][number],
): Promise<void> {
  await pause(cancel.afterMs);
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const reply = await ask(world, plan, {
      method: 'POST',
      path: `/v1/runs/${runId}/cancel`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(cancel.withReason ? { reason: 'no longer needed' } : {}),
    });
    if (reply && (reply.status === 202 || reply.status === 200)) {
      const { status } = JSON.parse(reply.body) as { status: string };
      world.witness.cancelAccepted(runId, status);
      return;
    }
    if (reply?.status === 409) return;
    if (reply && !isTransient(reply)) world.witness.wrongAnswer('cancel', reply);
    await pause(300 * 2 ** Math.min(attempt, 6));
  }
}

async function look(world: ClientWorld, plan: RunPlan, runId: string): Promise<void> {
  if (plan.lookAfterMs === undefined) return;
  await pause(plan.lookAfterMs);
  const reply = await ask(world, plan, { method: 'GET', path: `/v1/runs/${runId}`, headers: {} });
  if (reply && !isTransient(reply) && reply.status !== 200) {
    world.witness.wrongAnswer('get', reply);
  }
}

/** Undefined when no answer came. */
async function ask(
  world: ClientWorld,
  plan: RunPlan,
  request: Omit<Request, 'caller' | 'signal'>,
): Promise<Reply | undefined> {
  try {
    return await world.network.ask({
      ...request,
      caller: { tenantId: plan.tenantId, subject: 'user' },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    return undefined;
  }
}

function isTransient(reply: Reply): boolean {
  return reply.status === 429 || reply.status >= 500;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
