import { pause, settlesWithin } from './deadline.ts';
import type { ProcessHandle } from './sandbox/sandbox.ts';

/** A kill needs a few milliseconds, on a starved machine some hundred. */
const LOOK_AGAIN_MS = 10;
const LOOKS_PER_KILL = 20;
const LOOKS_BEFORE_KILL = 5;
/** A process in an uninterruptible wait cannot be killed; nobody waits for it longer than this. */
const LONGEST_REMOVAL_MS = 10_000;

export interface TreeRemoval {
  /** Processes that resisted; empty when the tree is verified gone. */
  readonly left: readonly number[];
  /** Processes that were alive when the killing began. */
  readonly killed: number;
}

/**
 * Kills a tree until nothing of it is left, and makes sure by a second look: a process that forks while the
 * list is read can be missed once. Also right for a tree that has ended by itself: its orphans go.
 *
 * @throws what keeps the sandbox from looking, when it never could.
 */
export async function removeProcessTree(
  handle: ProcessHandle,
  exited: Promise<unknown>,
  monotonic: () => number,
): Promise<TreeRemoval> {
  const lastAt = monotonic() + LONGEST_REMOVAL_MS;
  const killed = await aliveBeforeKill(handle, exited);
  for (;;) {
    const over = monotonic() >= lastAt;
    try {
      const left = await killAndLook(handle, exited);
      if (left.length === 0 || over) return { left, killed };
    } catch (error) {
      // The host may be out of processes itself while the tree holds them all: the next kill may succeed.
      if (over) throw error;
      await pause(LOOK_AGAIN_MS);
    }
  }
}

/** A tree whose main process has exited is given a moment: its init may be about to follow, and need no killing. */
async function aliveBeforeKill(handle: ProcessHandle, exited: Promise<unknown>): Promise<number> {
  const count = async () => (await handle.survivors().catch(() => [])).length;
  // A launcher that is not in its sandbox yet is found by nobody.
  if (!(await settlesWithin(exited, 0))) return Math.max(1, await count());
  let alive = await count();
  for (let looks = 0; alive > 0 && looks < LOOKS_BEFORE_KILL; looks += 1) {
    await pause(LOOK_AGAIN_MS);
    alive = await count();
  }
  return alive;
}

async function killAndLook(
  handle: ProcessHandle,
  exited: Promise<unknown>,
): Promise<readonly number[]> {
  await handle.killAll();
  // A signalled process can still be inside `fork`: only after its exit is the list of its children final.
  await settlesWithin(exited, LOOK_AGAIN_MS * LOOKS_PER_KILL);
  let left = await handle.survivors();
  for (let looks = 0; left.length > 0 && looks < LOOKS_PER_KILL; looks += 1) {
    await pause(LOOK_AGAIN_MS);
    left = await handle.survivors();
  }
  return left.length === 0 ? handle.survivors() : left;
}
