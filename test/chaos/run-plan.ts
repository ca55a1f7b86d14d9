import type { CreateRunRequest, TerminalStatus } from '#shared/contracts/index.ts';
import type { SeededRandom } from './seeded-random.ts';

/** One run of the load: what is posted, what is done to it, and how it may end. */
export interface RunPlan {
  /** Idempotency-Key; also the name of the plan. */
  readonly key: string;
  readonly tenantId: string;
  readonly kind: RunKind;
  readonly request: CreateRunRequest;
  /** How it ends when nothing of it is killed, and always when it is repeatable. */
  readonly expected: TerminalStatus;
  readonly repeatable: boolean;
  readonly cancel?: CancelPlan;
}

/** Counted from its acceptance (most wait in the queue then), or from the first step of its engine. */
export interface CancelPlan {
  readonly from: 'acceptance' | 'start';
  readonly afterMs: number;
}

/** Share of each kind of run, in percent. */
const KINDS = {
  quick: 21,
  many_events: 12,
  sleeping: 30,
  crashing_once: 8,
  failing: 7,
  forbidden: 4,
  past_deadline: 4,
  cancelled: 10,
  stubborn: 4,
} as const;
export type RunKind = keyof typeof KINDS;

interface Recipe {
  readonly script: unknown[];
  readonly expected: TerminalStatus;
  readonly more?: Partial<CreateRunRequest>;
  readonly cancel?: CancelPlan;
}

export interface Marks {
  /** Shell command that holds a connection to the witness for as long as anything of the attempt lives. */
  readonly begin: string;
  /** Shell command that tells the witness that the script has come to its end. */
  readonly end: string;
}

/** Nobody waits for a run longer than this; what is accepted has to have ended by then. */
const TIMEOUT_MS = 20 * 60_000;
/** More than kills can spend. */
const MANY_ATTEMPTS = 10;

/** The same seed gives the same load. `keyPrefix` keeps the keys of two loads apart. */
export function planRuns(options: {
  random: SeededRandom;
  runs: number;
  tenants: readonly string[];
  marks: Marks;
  keyPrefix: string;
}): RunPlan[] {
  const { random, runs, tenants, marks, keyPrefix } = options;
  return random.deal(KINDS, runs).map((kind, index): RunPlan => {
    const { script, expected, more, cancel } = recipe(kind, random, marks);
    const repeatable = random.chance(0.5);
    // A script that crashes at its first attempt only gets to its end when it may be tried again.
    const ends = kind === 'crashing_once' && !repeatable ? 'failed' : expected;
    return {
      key: `${keyPrefix}-${index}`,
      tenantId: tenants[index % tenants.length] ?? 'chaos',
      kind,
      expected: ends,
      repeatable,
      request: {
        engine: { id: 'local_test' },
        input: { prompt: `${kind} ${index}` },
        config: { script } as NonNullable<CreateRunRequest['config']>,
        timeoutMs: TIMEOUT_MS,
        retry: { repeatable, maxAttempts: MANY_ATTEMPTS },
        ...more,
        ...(kind === 'failing' ? { retry: { repeatable, maxAttempts: 3 } } : {}),
      },
      ...(cancel ? { cancel } : {}),
    };
  });
}

function recipe(kind: RunKind, random: SeededRandom, marks: Marks): Recipe {
  const begin = { command: marks.begin };
  const finish = [{ command: marks.end }, { complete: 'done' }];
  switch (kind) {
    case 'quick':
      return { script: [begin, { say: 'quick' }, ...finish], expected: 'completed' };
    case 'many_events': {
      const says = Array.from({ length: random.between(3, 8) }, (_, n) => ({
        say: `message ${n} `.repeat(40),
        deltas: random.between(20, 120),
      }));
      return { script: [begin, ...says, ...finish], expected: 'completed' };
    }
    case 'sleeping': {
      const naps = Array.from({ length: random.between(1, 3) }, (_, n) => [
        { wait: random.between(1_000, 5_000) },
        { say: `slept ${n}` },
      ]).flat();
      return { script: [begin, { say: 'alive' }, ...naps, ...finish], expected: 'completed' };
    }
    case 'crashing_once':
      return {
        script: [begin, { say: 'about to crash' }, { command: CRASH_FIRST }, ...finish],
        expected: 'completed',
      };
    case 'failing':
      return { script: [begin, { say: 'trying' }, { fail: 'on purpose' }], expected: 'failed' };
    case 'forbidden':
      return {
        script: [begin, { tool: { kind: 'file_change', name: 'write_file' } }, { wait: 'forever' }],
        expected: 'failed',
        more: { capabilities: { deny: ['file_operations'] } },
      };
    case 'past_deadline':
      return {
        script: [begin, { say: 'waiting' }, { wait: 'forever' }],
        expected: 'timed_out',
        more: { timeoutMs: random.between(8_000, 30_000) },
      };
    case 'cancelled':
      return {
        script: [begin, { say: 'waiting' }, { wait: 'forever' }],
        expected: 'cancelled',
        cancel: random.chance(0.4)
          ? { from: 'acceptance', afterMs: random.between(0, 20_000) }
          : { from: 'start', afterMs: random.between(0, 2_000) },
      };
    case 'stubborn':
      return {
        script: [
          { ignoreSignals: true },
          begin,
          { spawnDaemon: { count: 2 } },
          { say: 'waiting' },
          { wait: 'forever' },
        ],
        expected: 'cancelled',
        cancel: { from: 'start', afterMs: random.between(0, 2_000) },
      };
  }
}

/** The working directory of a later attempt is named after it: `<run>.<attempt>/work`. */
const CRASH_FIRST = 'case "${PWD%/work}" in *.[0-9]*) ;; *) kill -9 $PPID ;; esac';
