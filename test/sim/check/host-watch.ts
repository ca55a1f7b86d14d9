import type { ClaimReply, ExecutionResult } from '#shared/contracts/index.ts';
import { isTerminal } from '#shared/contracts/index.ts';
import type { HostWitness } from '../actors/host.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { LedgerWatch } from './ledger-watch.ts';
import { epochOf } from './run-record.ts';
import { Violation } from './violation.ts';

/** One engine that a host started. */
interface EngineLife {
  readonly runId: string;
  readonly epoch: number;
  readonly host: string;
  result: ExecutionResult | undefined;
}

/** A lost host must be found within this; skewed clocks read leases by their own time. */
const DEATH_BOUND_MS = 90_000;

/** Knows what hosts and engines did, whatever the ledger says of it. */
export class HostWatch {
  readonly #kernel: Kernel;
  readonly #ledger: LedgerWatch;
  readonly #deathBoundMs: number | undefined;
  readonly engines: EngineLife[] = [];
  readonly living = new Set<string>();
  /** Results that the platform took. */
  readonly reported: { runId: string; epoch: number; host: string; status: string }[] = [];
  readonly #attempts = new Map<string, { runId: string; epoch: number; hostInstanceId: string }>();
  readonly #fail: (violation: Violation) => void;
  deaths = 0;

  constructor(
    kernel: Kernel,
    ledger: LedgerWatch,
    options: { sweeperIsFree: boolean; maxSkewMs: number; fail: (violation: Violation) => void },
  ) {
    this.#kernel = kernel;
    this.#ledger = ledger;
    this.#fail = options.fail;
    this.#deathBoundMs = options.sweeperIsFree ? DEATH_BOUND_MS + 4 * options.maxSkewMs : undefined;
  }

  witness(host: string, hostInstanceId: string): HostWitness {
    this.living.add(host);
    return {
      begins: (runId, epoch) => this.#attempts.set(host, { runId, epoch, hostInstanceId }),
      started: (claim) => this.#started(host, claim),
      produced: () => undefined,
      ended: (_claim, result) => {
        const life = this.engines.find((engine) => engine.host === host);
        if (life) life.result = result;
      },
      acknowledged: (runId, epoch, through) => this.#acknowledged(runId, epoch, through),
      reported: (runId, epoch, outcome, status) => {
        if (outcome !== 'kept') this.reported.push({ runId, epoch, host, status });
      },
      exited: () => void this.living.delete(host),
      died: () => this.#died(host),
      fault: (error) => this.#fail(new Violation('no-fault', `${host}: ${String(error)}`)),
    };
  }

  /** A host was told that its events up to one of them are stored. */
  #acknowledged(runId: string, epoch: number, through: number): void {
    const run = this.#ledger.runOf(runId);
    const stored = run ? epochOf(run, epoch).producedThrough : 0;
    if (stored >= through) return;
    this.#fail(
      new Violation(
        'acknowledged-stored',
        `${runId}: epoch ${epoch} was acknowledged through ${through}, stored through ${stored}`,
      ),
    );
  }

  #started(host: string, claim: ClaimReply): void {
    const runId = claim.request.executionId;
    const run = this.#ledger.runOf(runId);
    const epoch = this.#attempts.get(host)?.epoch ?? 0;
    this.#kernel.note(`${host} starts an engine for …${runId.slice(-6)}, epoch ${epoch}`);
    const earlier = this.engines.filter((engine) => engine.runId === runId);
    if (earlier.some((engine) => engine.epoch === epoch)) {
      this.#fail(new Violation('one-host', `${runId}: two engines in epoch ${epoch}`));
    }
    const harmless = earlier.every(({ result }) => result?.error?.sideEffects === 'none');
    if (run && !run.repeatable && !harmless) {
      this.#fail(
        new Violation(
          'no-second-effect',
          `${runId}: ${host} starts an engine after ${earlier.at(-1)?.host}`,
        ),
      );
    }
    this.engines.push({ runId, epoch, host, result: undefined });
  }

  #died(host: string): void {
    this.living.delete(host);
    this.deaths += 1;
    const claim = this.#attempts.get(host);
    if (!claim || this.#deathBoundMs === undefined) return;
    this.#kernel.after(this.#deathBoundMs, () => {
      const run = this.#ledger.runOf(claim.runId);
      if (!run?.status || run.hostInstanceId !== claim.hostInstanceId) return;
      if (isTerminal(run.status) || run.status === 'queued') return;
      this.#fail(
        new Violation(
          'death-noticed',
          `${claim.runId} is ${run.status} ${this.#deathBoundMs} ms after ${host} died`,
        ),
      );
    });
  }
}
