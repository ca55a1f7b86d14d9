import { Random } from '../kernel/random.ts';

/** Everything that can go wrong, by where it does. */
export const FAULT_KINDS = [
  // Calls of one service by the platform: refused, lost on the way there, answer lost, sent twice by the SDK, slow.
  'table.refused',
  'table.lost_before',
  'table.lost_after',
  'table.repeated',
  'table.slow',
  'table.conflict',
  'table.stale_index',
  'queue.refused',
  'queue.lost_before',
  'queue.lost_after',
  'queue.repeated',
  'queue.slow',
  'tasks.refused',
  'tasks.lost_before',
  'tasks.lost_after',
  'tasks.repeated',
  'tasks.slow',
  'tasks.no_room',
  'tasks.unseen',
  'bus.refused',
  'bus.lost_before',
  'bus.lost_after',
  'bus.repeated',
  'bus.slow',
  'bus.entry_refused',
  'secrets.refused',
  'secrets.slow',
  'blobs.refused',
  'blobs.lost_before',
  'blobs.lost_after',
  'blobs.slow',
  // Messages.
  'message.lost',
  'message.twice',
  'message.late',
  // Invocations.
  'lambda.crash_before',
  'lambda.crash_after',
  'lambda.stall',
  'lambda.slow_start',
  // The stream of the table.
  'stream.again',
  'stream.late',
  // Tasks.
  'task.launched_twice',
  'task.start_fails',
  'task.starts_late',
  'task.dies',
  'task.dies_at_call',
  'task.zombie',
  'task.slow_stop',
  'task.event_lost',
  'task.event_twice',
  'task.event_late',
  // Between host and gateway, and between client and API.
  'net.request_lost',
  'net.reply_lost',
  'net.request_twice',
  'net.slow',
  'net.server_error',
  'net.partition',
  // Schedules and readers.
  'sweep.skipped',
  'sweep.overlaps',
  'reader.cut',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What keeps the sweeper itself from its work: only without these is its promise of 90 seconds held against it. */
const HINDERS_SWEEPER: readonly FaultKind[] = FAULT_KINDS.filter(
  (kind) =>
    /^(table|queue|tasks|lambda|blobs)\./.test(kind) ||
    kind === 'sweep.skipped' ||
    kind === 'message.lost' ||
    kind === 'task.zombie',
);

const MOODS = { calm: 1, one: 4, few: 7, many: 8, storm: 1 } as const;
type Mood = keyof typeof MOODS;

/**
 * Which faults a seed has and how often. Not all of them in every seed: a rare combination is only found where the
 * other faults leave it room (swarm testing).
 */
export class Faults {
  readonly mood: Mood;
  readonly rates: ReadonlyMap<FaultKind, number>;
  readonly counts = new Map<FaultKind, number>();
  /** Actors' clocks differ by up to this much. */
  readonly maxSkewMs: number;
  readonly random: Random;
  #over = false;

  constructor(seed: number) {
    this.random = new Random(seed, 3);
    this.mood = this.random.weighted(MOODS);
    this.rates = ratesOf(this.mood, this.random);
    this.maxSkewMs = this.random.pick([0, 0, 500, 2_000, 4_000]);
  }

  /** From here on everything works. */
  end(): void {
    this.#over = true;
  }

  get over(): boolean {
    return this.#over;
  }

  /** Whether it happens now. */
  hits(kind: FaultKind): boolean {
    if (this.#over || !this.random.chance(this.rates.get(kind) ?? 0)) return false;
    this.count(kind);
    return true;
  }

  count(kind: FaultKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }

  get sweeperIsFree(): boolean {
    return HINDERS_SWEEPER.every((kind) => !this.rates.has(kind));
  }

  skewMs(): number {
    return this.maxSkewMs === 0 ? 0 : this.random.between(-this.maxSkewMs, this.maxSkewMs);
  }
}

function ratesOf(mood: Mood, random: Random): Map<FaultKind, number> {
  const rates = new Map<FaultKind, number>();
  const share = { calm: 0, one: 0, few: 0.1, many: 0.35, storm: 0.8 }[mood];
  for (const kind of FAULT_KINDS) {
    if (random.chance(share)) rates.set(kind, rateOf(kind, random));
  }
  if (mood === 'one') {
    const kind = random.pick(FAULT_KINDS);
    rates.set(kind, Math.min(0.5, 4 * rateOf(kind, random)));
  }
  return rates;
}

/** Calls are many: each is hit rarely. A message, a task or a stop is one of few. */
function rateOf(kind: FaultKind, random: Random): number {
  const often =
    /^(message|task|stream|sweep|reader|blobs|secrets)\./.test(kind) || kind === 'tasks.no_room';
  return (often ? 0.1 : 0.005) * 2 ** random.between(0, 2) * (0.5 + random.unit());
}
