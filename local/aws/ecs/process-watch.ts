import type { ContainerProcess, ProcessEnd } from './held-process.ts';
import { readProcessEnd } from './held-process.ts';
import {
  descendantsOf,
  isAlive,
  listProcesses,
  type ProcessIdentity,
  type ProcessRow,
  signalGroup,
  signalProcess,
} from './process-identity.ts';

interface Watched {
  readonly process: ContainerProcess;
  readonly onEnd: (end: ProcessEnd) => void;
  /** Every process that was ever seen below `main`; some have left its group and lost their parent since. */
  family: Map<number, ProcessIdentity>;
}

/** Asking `ps` costs more than reading /proc. */
const POLL_MS = process.platform === 'linux' ? 100 : 500;
/** Listing all processes costs some milliseconds. */
const FAMILY_EVERY_POLLS = 10;

/**
 * Watches processes that may be nobody's children (the stack that started them is dead) until they are gone,
 * and then ends everything they left behind, as the end of a container does.
 */
export class ProcessWatch {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;
  #polls = 0;

  /** `ended`, if given, only saves waiting for the next look. */
  add(process: ContainerProcess, onEnd: (end: ProcessEnd) => void, ended?: Promise<void>): void {
    const watched: Watched = { process, onEnd, family: new Map() };
    this.#watched.add(watched);
    void ended?.then(() => this.#look(watched));
    this.#timer ??= setInterval(() => this.#poll(), POLL_MS).unref();
  }

  /** Kills the process and everything below it. The keeper lives on to write the exit code. */
  kill(process: ContainerProcess): void {
    const watched = [...this.#watched].find((other) => other.process.exitFile === process.exitFile);
    if (watched) this.#meetFamily(watched);
    signalProcess(process.main, 'SIGKILL');
    for (const member of watched?.family.values() ?? []) signalProcess(member, 'SIGKILL');
  }

  /** The processes go on; nobody watches them any more. */
  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  #poll(): void {
    this.#polls += 1;
    const meet = this.#polls % FAMILY_EVERY_POLLS === 0;
    const rows = meet ? listProcesses() : undefined;
    for (const watched of [...this.#watched]) {
      if (rows) this.#meetFamily(watched, rows);
      this.#look(watched);
    }
    if (this.#watched.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #look(watched: Watched): void {
    const { main, keeper } = watched.process;
    if (!this.#watched.has(watched) || isAlive(main) || isAlive(keeper)) return;
    this.#watched.delete(watched);
    // Just now they lived, so this group is still theirs.
    signalGroup(keeper.pid, 'SIGKILL');
    this.#meetFamily(watched);
    for (const member of watched.family.values()) signalProcess(member, 'SIGKILL');
    watched.onEnd(readProcessEnd(watched.process));
  }

  #meetFamily({ process, family }: Watched, rows?: readonly ProcessRow[]): void {
    for (const found of descendantsOf([process.main, ...family.values()], rows)) {
      family.set(found.pid, found);
    }
  }
}
