import type { ErrorCode, Usage } from '#shared/contracts/index.ts';
import type { Random } from '../kernel/random.ts';

/** How a scripted engine ends by itself. */
export type EngineEnd =
  | { readonly kind: 'complete' | 'abort' | 'budget' | 'hang' }
  | { readonly kind: 'fail'; readonly code: ErrorCode; readonly sideEffects: 'none' | 'maybe' };

/** What an engine does in one attempt. */
export interface EngineScript {
  readonly steps: readonly {
    readonly afterMs: number;
    readonly events: number;
    readonly bytes: number;
    /** Passed on at once. */
    readonly urgent: boolean;
  }[];
  readonly end: EngineEnd;
  /** How long it takes to stop when it is told to; undefined: it does not listen. */
  readonly stopsAfterMs: number | undefined;
  readonly usage: Usage;
}

/** One run of the workload: what its client asks for and what its engine does. */
export interface RunPlan {
  readonly index: number;
  readonly tenantId: string;
  readonly postAtMs: number;
  readonly timeoutMs: number;
  readonly repeatable: boolean;
  readonly maxAttempts: number;
  /** Undefined: posted without one, so that a repeat would be another run. */
  readonly idempotencyKey: string | undefined;
  /** Posts the same again although it was answered. */
  readonly repostAfterMs: number | undefined;
  readonly cancels: readonly { readonly afterMs: number; readonly withReason: boolean }[];
  /** When somebody begins to follow it; undefined: nobody does. */
  readonly readAfterMs: number | undefined;
  /** When its client looks at it; undefined: it does not. */
  readonly lookAfterMs: number | undefined;
  /** By attempt; the last one is for all that follow. */
  readonly scripts: readonly EngineScript[];
}

/** Too large for a page of the log: its payload becomes a blob. */
const OUTSIZED_BYTES = 210 * 1024;

const FAILURES: readonly (EngineEnd & { kind: 'fail' })[] = [
  { kind: 'fail', code: 'engine_crashed', sideEffects: 'maybe' },
  { kind: 'fail', code: 'engine_start_failed', sideEffects: 'none' },
  { kind: 'fail', code: 'model_rate_limited', sideEffects: 'none' },
  { kind: 'fail', code: 'model_unauthenticated', sideEffects: 'none' },
  { kind: 'fail', code: 'internal', sideEffects: 'none' },
  { kind: 'fail', code: 'run_timed_out', sideEffects: 'maybe' },
];

/** The runs of one seed. */
export function planRuns(random: Random): RunPlan[] {
  const tenants = ['acme', 'globex', 'initech'].slice(0, random.between(1, 3));
  return Array.from({ length: random.between(2, 6) }, (_, index) =>
    planRun(random, index, random.pick(tenants)),
  );
}

function planRun(random: Random, index: number, tenantId: string): RunPlan {
  const attempts = random.weighted({ one: 2, several: 5 }) === 'one' ? 1 : random.between(2, 4);
  return {
    index,
    tenantId,
    postAtMs: random.between(0, 20_000),
    // Most have time enough; some reach their deadline, some while they wait.
    timeoutMs: random.chance(0.7) ? random.between(70_000, 150_000) : random.between(1_000, 40_000),
    repeatable: random.chance(0.5),
    maxAttempts: attempts,
    idempotencyKey: random.chance(0.75) ? `key-${index}` : undefined,
    repostAfterMs: random.chance(0.3) ? random.between(1, 30_000) : undefined,
    cancels: random.chance(0.35)
      ? Array.from({ length: random.between(1, 2) }, () => ({
          afterMs: random.chance(0.3) ? random.between(0, 500) : random.between(500, 60_000),
          withReason: random.chance(0.5),
        }))
      : [],
    readAfterMs: random.chance(0.3) ? random.between(0, 30_000) : undefined,
    lookAfterMs: random.chance(0.3) ? random.between(500, 40_000) : undefined,
    scripts: Array.from({ length: attempts }, () => planScript(random)),
  };
}

function planScript(random: Random): EngineScript {
  const steps = Array.from({ length: random.between(0, 8) }, () => ({
    afterMs: random.chance(0.5) ? random.between(1, 200) : random.between(200, 8_000),
    events: random.between(1, 4),
    bytes: random.chance(0.01)
      ? OUTSIZED_BYTES
      : random.chance(0.1)
        ? random.between(2_000, 20_000)
        : random.between(10, 300),
    urgent: random.chance(0.2),
  }));
  const end = random.weighted({ complete: 20, fail: 13, abort: 1, budget: 2, hang: 4 });
  return {
    steps,
    end: end === 'fail' ? random.pick(FAILURES) : { kind: end },
    stopsAfterMs: random.chance(0.9) ? random.between(1, 3_000) : undefined,
    usage: {
      inputTokens: random.between(1, 1_000),
      outputTokens: random.between(0, 1_000),
      ...(random.chance(0.5) ? { costUsd: random.between(1, 100) / 64 } : {}),
    },
  };
}

const PROMPT = /^plan (\d+)$/;

/** The prompt carries the plan's number through the platform to the engine. */
export function promptOf(plan: RunPlan): string {
  return `plan ${plan.index}`;
}

export function planOf(plans: readonly RunPlan[], prompt: string): RunPlan {
  const plan = plans[Number(PROMPT.exec(prompt)?.[1])];
  if (!plan) throw new Error(`no plan has the prompt ${prompt}`);
  return plan;
}

export function scriptOf(plan: RunPlan, attempt: number): EngineScript {
  const script = plan.scripts[Math.min(attempt, plan.scripts.length) - 1];
  if (!script) throw new Error('a plan has at least one script');
  return script;
}
