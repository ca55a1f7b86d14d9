import type { AgentEvent, RunStatus } from '#shared/contracts/index.ts';
import type { RunPlan } from './run-plan.ts';

/** What the clients have seen of one run. */
export interface TrackedRun {
  readonly plan: RunPlan;
  /** Every run that any post of its key was answered with. */
  readonly runIds: Set<string>;
  acceptedAt: number | undefined;
  /** As the followers got them, over all their connections. */
  readonly followed: AgentEvent[];
  /** Followed without the platform's client. */
  readonly raw: boolean;
  /** A follower has it. */
  taken: boolean;
  followedToEnd: boolean;
  /** In the order seen; repeats left out. */
  readonly statuses: RunStatus[];
  /** Something of it was killed: it may end otherwise than its script says. */
  hit: boolean;
}

export function track(plan: RunPlan, index: number): TrackedRun {
  return {
    plan,
    runIds: new Set(),
    acceptedAt: undefined,
    followed: [],
    raw: index % 2 === 1,
    taken: false,
    followedToEnd: false,
    statuses: [],
    hit: false,
  };
}

/** The run of a key, once it was accepted. */
export function runIdOf(run: TrackedRun): string | undefined {
  const [first] = run.runIds;
  return first;
}
