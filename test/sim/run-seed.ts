import './kernel/virtual-globals.ts';
import { PlatformError } from '#shared/contracts/index.ts';
import type { Logger } from '#shared/orchestrator/index.ts';
import { startClient } from './actors/client.ts';
import { installStreamingRuntime, type Reading, startReader } from './actors/reader.ts';
import { planRuns, type RunPlan } from './actors/run-plan.ts';
import { checkRemains } from './check/final-checks.ts';
import { HostWatch } from './check/host-watch.ts';
import { LedgerWatch } from './check/ledger-watch.ts';
import { Violation } from './check/violation.ts';
import { Kernel } from './kernel/kernel.ts';
import { Random } from './kernel/random.ts';
import { Faults } from './world/faults.ts';
import { TableHall } from './world/table.ts';
import { settingsOf, World, type WorldSettings } from './world/world.ts';

export interface SeedResult {
  readonly seed: number;
  readonly violation?: { readonly invariant: string; readonly message: string };
  /** Of the whole trace. */
  readonly digest: string;
  readonly trace: readonly string[];
  readonly steps: number;
  readonly calls: number;
  readonly requests: number;
  readonly invocations: number;
  readonly virtualMs: number;
  readonly runs: number;
  readonly hostDeaths: number;
  readonly engines: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly transitions: Readonly<Record<string, number>>;
  readonly endings: Readonly<Record<string, number>>;
}

installStreamingRuntime();

/** One simulation: everything in it follows from its seed. */
export async function runSeed(seed: number, options: { keepTrace?: boolean } = {}) {
  const hall = await TableHall.open();
  return new Simulation(seed, hall, options.keepTrace ?? false).run();
}

/** The promise: deadline and its grace, or the end of all faults, and then this much for those who look. */
const SLACK_MS = 90_000;
/** Afterwards orphans are found: their grace, the check's turn, and a slow stop. */
const CLEANING_MS = 400_000;

class Simulation {
  readonly #seed: number;
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #random: Random;
  readonly #plans: readonly RunPlan[];
  readonly #settings: WorldSettings;
  readonly #ledger: LedgerWatch;
  readonly #hosts: HostWatch;
  readonly #world: World;
  readonly #readings: Reading[] = [];
  readonly #accepted = new Set<string>();
  readonly #cancelled = new Set<string>();
  #clients = 0;
  #faultsEndedAt = Number.POSITIVE_INFINITY;
  #atRest = false;

  constructor(seed: number, hall: TableHall, keepTrace: boolean) {
    this.#seed = seed;
    this.#kernel = new Kernel(seed, { keepTrace });
    this.#faults = new Faults(seed);
    this.#random = new Random(seed, 4);
    this.#plans = planRuns(this.#random);
    this.#settings = settingsOf(seed);
    this.#ledger = new LedgerWatch(this.#kernel, this.#settings.tenantRunLimit, (runId, sha256) =>
      [...this.#world.blobs.names].some((name) => name.includes(runId) && name.includes(sha256)),
    );
    const fail = (violation: Violation) => this.#kernel.fault(violation);
    this.#hosts = new HostWatch(this.#kernel, this.#ledger, {
      sweeperIsFree: this.#faults.sweeperIsFree,
      maxSkewMs: this.#faults.maxSkewMs,
      fail,
    });
    this.#world = new World({
      seed,
      kernel: this.#kernel,
      faults: this.#faults,
      hall,
      plans: this.#plans,
      settings: this.#settings,
      log: loggerOf(fail),
      hostWitness: (host, id) => this.#hosts.witness(host, id),
      written: (records) => {
        try {
          this.#ledger.written(records);
        } catch (error) {
          this.#kernel.fault(error);
        }
      },
    });
  }

  async run(): Promise<SeedResult> {
    let violation: SeedResult['violation'];
    try {
      await this.#live();
    } catch (error) {
      violation = this.#describe(error);
    }
    return this.#result(violation);
  }

  async #live(): Promise<void> {
    const kernel = this.#kernel;
    kernel.note(
      `seed ${this.#seed}, ${this.#faults.mood}: ${[...this.#faults.rates.keys()].join(' ')}`,
    );
    kernel.note(`settings ${JSON.stringify(this.#settings)}, skew ${this.#faults.maxSkewMs}`);
    for (const plan of this.#plans) this.#startClient(plan);
    this.#world.startSweeping();
    const faultsEndAt = this.#random.between(60_000, 240_000);
    kernel.after(faultsEndAt, () => {
      this.#faultsEndedAt = kernel.now;
      this.#faults.end();
      this.#world.network.mend();
      kernel.note('FAULTS END');
    });
    const lingerMs = this.#random.chance(0.25) ? this.#random.between(1_000, 200_000) : 0;
    this.#watchForRest(lingerMs);
    const { deadlineGraceMs } = this.#settings.timing;
    const latest = Math.max(...this.#plans.map((plan) => plan.postAtMs + plan.timeoutMs));
    const limitMs =
      Math.max(faultsEndAt, latest + deadlineGraceMs) + SLACK_MS + CLEANING_MS + lingerMs;
    await kernel.run(() => this.#atRest, limitMs);
    this.#checkTimes();
    checkRemains({
      ledger: this.#ledger,
      hosts: this.#hosts,
      publications: this.#world.bus.publications,
      readings: this.#readings,
      tasks: this.#world.tasks.all,
      accepted: this.#accepted,
      cancelled: this.#cancelled,
    });
  }

  #startClient(plan: RunPlan): void {
    const kernel = this.#kernel;
    this.#clients += 1;
    startClient(
      {
        kernel,
        faults: this.#faults,
        network: this.#world.network,
        ended: () => {
          this.#clients -= 1;
        },
        witness: {
          accepted: (_plan, runId) => {
            this.#accepted.add(runId);
            if (this.#ledger.runOf(runId)?.status) return;
            kernel.fault(new Violation('nothing-lost', `${runId} was accepted and is not there`));
          },
          cancelAccepted: (runId) => void this.#cancelled.add(runId),
          wrongAnswer: (what, { status, body }) =>
            kernel.fault(new Violation('right-answers', `${what}: ${status} ${body}`)),
          startReader: (tenantId, runId) =>
            void this.#readings.push(
              startReader(
                {
                  kernel,
                  faults: this.#faults,
                  lambdas: this.#world.lambdas,
                  openStream: this.#world.platform.openStream,
                },
                tenantId,
                runId,
              ),
            ),
        },
      },
      plan,
    );
  }

  /** Looks once a second whether nothing is left to happen, and then a while longer. */
  #watchForRest(lingerMs: number): void {
    const look = () => {
      if (this.#isAtRest()) this.#kernel.after(lingerMs, () => this.#restOrGoOn(lingerMs));
      else this.#kernel.after(1_000, look);
    };
    this.#kernel.after(1_000, look);
  }

  #restOrGoOn(lingerMs: number): void {
    if (this.#isAtRest()) this.#atRest = true;
    else this.#watchForRest(lingerMs);
  }

  #isAtRest(): boolean {
    return (
      this.#clients === 0 &&
      !this.#ledger.live &&
      this.#hosts.living.size === 0 &&
      this.#readings.every(({ complete }) => complete) &&
      this.#world.tasks.all.every(({ status }) => status === 'STOPPED') &&
      this.#world.stream.isDrained
    );
  }

  #checkTimes(): void {
    const { deadlineGraceMs } = this.#settings.timing;
    for (const run of this.#ledger.runs.values()) {
      if (run.endedAt === undefined) continue;
      const bound = Math.max(
        run.deadlineAt + deadlineGraceMs,
        run.endedAt > this.#faultsEndedAt ? this.#faultsEndedAt : 0,
      );
      const lateMs = run.endedAt - bound - SLACK_MS - 2 * this.#faults.maxSkewMs;
      // While there are faults nothing is promised.
      if (lateMs <= 0 || run.endedAt <= this.#faultsEndedAt) continue;
      throw new Violation('ends-in-time', `${run.runId} ended ${Math.round(lateMs)} ms too late`);
    }
  }

  #describe(error: unknown): NonNullable<SeedResult['violation']> {
    if (error instanceof Violation) return { invariant: error.invariant, message: error.message };
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { invariant: 'no-fault', message: text };
  }

  #result(violation: SeedResult['violation']): SeedResult {
    const kernel = this.#kernel;
    if (violation) kernel.note(`VIOLATION ${violation.invariant}: ${violation.message}`);
    const endings: Record<string, number> = {};
    for (const { status } of this.#ledger.runs.values()) {
      if (status) endings[status] = (endings[status] ?? 0) + 1;
    }
    return {
      seed: this.#seed,
      ...(violation ? { violation } : {}),
      digest: kernel.trace.digest(),
      trace: kernel.trace.lines,
      steps: kernel.steps,
      calls: this.#world.services.calls,
      requests: this.#world.network.calls,
      invocations: this.#world.lambdas.invocations,
      virtualMs: kernel.now,
      runs: this.#ledger.runs.size,
      hostDeaths: this.#hosts.deaths,
      engines: this.#hosts.engines.length,
      faults: Object.fromEntries(this.#faults.counts),
      transitions: Object.fromEntries(this.#ledger.transitions),
      endings,
    };
  }
}

/** Errors that no fault of the world explains are faults of the platform's code. */
function loggerOf(fail: (violation: Violation) => void): Logger {
  const judge = (fields: Record<string, unknown>, message: string) => {
    for (let error = fields.error; error instanceof Error; error = error.cause) {
      const isOurs = error instanceof PlatformError && error.code === 'internal' && !error.cause;
      if (/^(Type|Range|Reference|Syntax|Zod)Error$/.test(error.name) || isOurs) {
        fail(new Violation('no-fault', `${message}: ${error.stack}`));
      }
    }
  };
  return { info: () => undefined, warn: judge, error: judge };
}
