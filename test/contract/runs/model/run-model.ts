import { isTerminal, type RunStatus } from '#shared/contracts/index.ts';
import { canTransition, isActive, type LogPosition, type RunHead } from '#shared/runs/index.ts';

/** A page as the model knows it: who wrote it, and what it says. */
export interface ModelPage {
  readonly kind: 'events' | 'seal' | 'final';
  readonly epoch: number;
  readonly producer: 'host' | 'platform';
  readonly firstProducer: number;
  readonly messages: readonly string[];
}

export type AppendExpectation =
  | { readonly outcome: 'stored'; readonly storedThrough: number; readonly cancelSeen: boolean }
  | { readonly outcome: 'fenced'; readonly by: 'seal' | 'final' };

/** What a run is, in the plainest words: the ledger is held to it, write by write. */
export class RunModel {
  status: RunStatus = 'queued';
  epoch = 0;
  attempt = 0;
  host: string | undefined;
  hasTask = false;
  readonly pages: ModelPage[] = [platformPage('events', 0)];
  /** Epochs of the attempts that ended, oldest first. */
  readonly ended: number[] = [];
  /** Heads as somebody may have seen them, oldest first: what is decided on may be stale. */
  readonly seen: RunHead[] = [];
  /** Where the host of an epoch may write, by epoch: all the places it was ever told. */
  readonly places = new Map<number, LogPosition[]>();
  readonly bodyHash: string;

  constructor(bodyHash: string) {
    this.bodyHash = bodyHash;
  }

  /** A decision made on this head is still good. */
  matches(head: RunHead): boolean {
    return head.status === this.status && head.epoch === this.epoch;
  }

  mayBecome(head: RunHead, to: RunStatus): boolean {
    return this.matches(head) && canTransition(this.status, to);
  }

  get live(): boolean {
    return isActive(this.status);
  }

  claim(): void {
    this.status = 'starting';
    this.epoch += 1;
    this.attempt += 1;
    this.host = undefined;
    this.hasTask = false;
  }

  release(): void {
    this.status = 'queued';
    this.attempt -= 1;
  }

  mayHost(epoch: number, host: string): boolean {
    const claimable = this.status === 'starting' || this.status === 'running';
    return claimable && epoch === this.epoch && (this.host ?? host) === host;
  }

  end(kind: 'seal' | 'final', status: RunStatus): void {
    this.pages.push(platformPage(kind, this.epoch));
    if (this.live) this.ended.push(this.epoch);
    this.status = status;
    if (kind === 'seal') {
      this.host = undefined;
      this.hasTask = false;
    }
  }

  cancel(): void {
    this.pages.push(platformPage('events', this.epoch));
    this.status = 'cancelling';
  }

  /** Of the host's own events of an epoch, how many are in the log. */
  storedThrough(epoch: number): number {
    return this.pages
      .filter((page) => page.producer === 'host' && page.epoch === epoch)
      .reduce((most, page) => Math.max(most, page.firstProducer + page.messages.length - 1), 0);
  }

  /**
   * An append from a place: whoever is in the way says how it goes on (docs/architecture.md, the log protocol). Adds the
   * page that it leaves.
   */
  append(
    epoch: number,
    from: LogPosition,
    firstProducer: number,
    messages: readonly string[],
  ): AppendExpectation {
    const through = firstProducer + messages.length - 1;
    let stored = firstProducer - 1;
    let cancelSeen = false;
    for (const page of this.pages.slice(from.nextIndex - 1)) {
      if (stored >= through) break;
      if (page.kind === 'final') return { outcome: 'fenced', by: 'final' };
      if (page.epoch > epoch || (page.kind === 'seal' && page.epoch === epoch)) {
        return { outcome: 'fenced', by: 'seal' };
      }
      if (page.producer === 'platform') cancelSeen = true;
      else if (page.epoch === epoch) {
        stored = Math.max(stored, page.firstProducer + page.messages.length - 1);
      }
    }
    if (stored < through) {
      this.pages.push({
        kind: 'events',
        epoch,
        producer: 'host',
        firstProducer: stored + 1,
        messages: messages.slice(stored + 1 - firstProducer),
      });
    }
    return { outcome: 'stored', storedThrough: Math.max(stored, through), cancelSeen };
  }

  get terminal(): boolean {
    return isTerminal(this.status);
  }
}

function platformPage(kind: ModelPage['kind'], epoch: number): ModelPage {
  return { kind, epoch, producer: 'platform', firstProducer: 0, messages: [] };
}

/** Runs of one tenant by slot, under one limit. */
export class TenantModel {
  readonly runs = new Map<number, RunModel>();
  readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get live(): number {
    return [...this.runs.values()].filter((run) => run.live).length;
  }
}
