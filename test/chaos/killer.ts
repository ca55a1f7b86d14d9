import { setTimeout as delay } from 'node:timers/promises';
import { killProcess, processesOf, type RunProcess } from './processes.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { StackKeeper } from './stack-keeper.ts';

/** What is killed, and how often of a hundred times. */
export const KILL_KINDS = {
  stack: 22,
  host: 22,
  engine: 14,
  sandbox: 6,
  keeper: 4,
  stack_and_hosts: 14,
  stack_after_202: 10,
  stack_while_starting: 8,
} as const;
export type KillKind = keyof typeof KILL_KINDS;

/** One blow. `deaths` are the runs whose host or engine it took. */
export interface Kill {
  readonly kind: KillKind;
  /** Milliseconds since the epoch; the signal came right after. */
  readonly at: number;
  readonly deaths: readonly string[];
}

export interface KillerOptions {
  readonly keeper: StackKeeper;
  readonly random: SeededRandom;
  readonly log: (line: string) => void;
  /** Posts runs that were held back, and resolves when the first of them was accepted. */
  readonly postHeldBack: () => Promise<void>;
  /** Before the signal: from then on the run may end otherwise than its script says. */
  readonly onVictim: (runId: string) => void;
}

/** Kills are SIGKILL: nothing of the victim gets to run any more. The stack is started again at once. */
export class Killer {
  readonly kills: Kill[] = [];
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  /** Resolves when the stack serves again. False when there was nobody to kill. */
  async strike(kind: KillKind): Promise<boolean> {
    const { keeper, random } = this.#options;
    const at = Date.now();
    switch (kind) {
      case 'host':
      case 'engine':
      case 'sandbox': {
        const victim = random.pick(this.#living(kind));
        if (!victim) return false;
        return this.#record(kind, at, this.#killAll([victim]));
      }
      case 'keeper': {
        const victim = random.pick(this.#living(kind));
        // The run does not depend on it, so it counts for no reason to end otherwise.
        return victim !== undefined && killProcess(victim.pid) && this.#record(kind, at, []);
      }
      case 'stack':
        await keeper.kill();
        this.#record(kind, at, []);
        break;
      case 'stack_and_hosts': {
        const hosts = this.#living('host');
        if (hosts.length === 0) return false;
        await keeper.kill();
        // Some live on and look for the stack; some are dead when it comes back.
        this.#record(kind, at, this.#killAll(hosts.filter(() => random.chance(0.5))));
        break;
      }
      case 'stack_after_202':
        await this.#options.postHeldBack();
        await keeper.kill();
        this.#record(kind, at, []);
        break;
      case 'stack_while_starting':
        await keeper.kill();
        await keeper.startAndKill(random.between(30, 1_500));
        this.#record(kind, at, []);
        break;
    }
    await keeper.start();
    return true;
  }

  #living(role: RunProcess['role']): RunProcess[] {
    return processesOf(this.#options.keeper.dataDir)
      .filter((each) => each.role === role && each.runId !== undefined)
      .sort((a, b) => a.pid - b.pid);
  }

  #killAll(victims: readonly RunProcess[]): string[] {
    return victims.flatMap(({ pid, runId = '' }) => {
      this.#options.onVictim(runId);
      return killProcess(pid) ? [runId] : [];
    });
  }

  #record(kind: KillKind, at: number, deaths: readonly string[]): boolean {
    this.kills.push({ kind, at, deaths });
    this.#options.log(`killed ${kind}${deaths.length > 0 ? ` of ${deaths.join(', ')}` : ''}`);
    return true;
  }
}

/** Strikes as the load goes on: kill *n* is due when its share of the runs has ended, or after a pause at the latest. */
export async function strikeThrough(options: {
  killer: Killer;
  random: SeededRandom;
  kinds: readonly KillKind[];
  /** Share of the runs that have ended, 0 to 1. */
  progress: () => number;
  longestPauseMs: () => number;
}): Promise<void> {
  const { killer, random, kinds, progress, longestPauseMs } = options;
  for (const [index, kind] of kinds.entries()) {
    const due = ((index + 1) / (kinds.length + 1)) * LATEST_SHARE;
    const until = Date.now() + longestPauseMs();
    await delay(random.between(200, 1_500));
    while (Date.now() < until && progress() < due) await delay(100);
    const patience = Date.now() + FIND_WITHIN_MS;
    while (progress() < 1 && !(await killer.strike(Date.now() < patience ? kind : 'stack'))) {
      await delay(100);
    }
  }
}

/** When nothing of the wanted kind lives for this long, the stack is killed instead. */
const FIND_WITHIN_MS = 3_000;
/** The last kills still find runs to hit. */
const LATEST_SHARE = 0.95;
