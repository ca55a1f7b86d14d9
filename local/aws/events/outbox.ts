import type { StateDatabase } from '../kit/state-database.ts';
import type { Match } from './rules.ts';

/** Where an event goes. */
export interface DeliveryTarget {
  readonly arn: string;
  readonly ruleName: string;
}

/** Hands an event to its target; a rejection means that it has to be tried again. */
export type Deliver = (target: DeliveryTarget, event: object) => Promise<void>;

/** A delivery that was given up after its last attempt. */
export interface ParkedDelivery {
  readonly id: number;
  readonly busName: string;
  readonly ruleName: string;
  readonly targetArn: string;
  readonly event: object;
  readonly attempts: number;
  readonly lastError: string;
  /** Milliseconds since 1970. */
  readonly parkedAt: number;
}

export interface OutboxOptions {
  readonly state: StateDatabase;
  readonly deliver: Deliver;
  readonly now: () => number;
  readonly maxAttempts: number;
  /** How long to wait after the given number of failed attempts. */
  readonly retryDelayMs: (attempts: number) => number;
}

interface Row {
  readonly id: number;
  readonly bus: string;
  readonly rule: string;
  readonly target_arn: string;
  readonly dead_letter_arn: string | null;
  readonly event: string;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly next_at: number;
  readonly last_error: string | null;
  readonly parked_at: number | null;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS events_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  bus TEXT NOT NULL,
  rule TEXT NOT NULL,
  target_arn TEXT NOT NULL,
  dead_letter_arn TEXT,
  event TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  last_error TEXT,
  parked_at INTEGER
);
CREATE INDEX IF NOT EXISTS events_outbox_due ON events_outbox (next_at) WHERE parked_at IS NULL;`;

const CONCURRENCY = 16;

/**
 * Deliveries under way. A delivery is stored before the event is acknowledged and deleted only after its
 * target took it, so a kill repeats deliveries and loses none. After its last attempt it goes to the target's
 * dead-letter queue when it has one, and is parked here when not.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #running = new Map<number, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  /** Goes on at once with what an earlier process left. */
  constructor(options: OutboxOptions) {
    this.#options = options;
    options.state.exec(SCHEMA);
    this.pump();
  }

  /** Stores deliveries; to be called inside the transaction that accepts the event, then {@link pump}. */
  add(event: object, matches: readonly Match[]): void {
    const { state, now, maxAttempts } = this.#options;
    const statement = state.prepare(
      `INSERT INTO events_outbox (bus, rule, target_arn, dead_letter_arn, event, max_attempts, next_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const { rule, targets } of matches) {
      for (const target of targets) {
        const retries = target.RetryPolicy?.MaximumRetryAttempts ?? Number.POSITIVE_INFINITY;
        statement.run(
          rule.bus,
          rule.name,
          target.Arn,
          target.DeadLetterConfig?.Arn ?? null,
          JSON.stringify(event),
          Math.min(maxAttempts, retries + 1),
          now(),
        );
      }
    }
  }

  /** Starts what is due, and sets the clock for what is not. */
  pump(): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    // One reading of the clock for both, or what falls due between two readings would wait for ever.
    const now = this.#options.now();
    for (const row of this.#due(now)) {
      if (this.#running.size >= CONCURRENCY) return;
      if (!this.#running.has(row.id)) this.#running.set(row.id, this.#attempt(row));
    }
    const next = this.#nextAfter(now);
    if (next !== undefined) this.#timer = setTimeout(() => this.pump(), Math.max(1, next - now));
  }

  parked(): readonly ParkedDelivery[] {
    const rows = this.#options.state
      .prepare('SELECT * FROM events_outbox WHERE parked_at IS NOT NULL ORDER BY id')
      .all() as unknown as Row[];
    return rows.map((row) => ({
      id: row.id,
      busName: row.bus,
      ruleName: row.rule,
      targetArn: row.target_arn,
      event: JSON.parse(row.event),
      attempts: row.attempts,
      lastError: row.last_error ?? '',
      parkedAt: row.parked_at ?? 0,
    }));
  }

  /** Tries everything parked again from the start; returns how many. */
  redrive(): number {
    const { state, now } = this.#options;
    const { changes } = state
      .prepare(
        `UPDATE events_outbox SET parked_at = NULL, attempts = 0, next_at = ?
         WHERE parked_at IS NOT NULL`,
      )
      .run(now());
    this.pump();
    return Number(changes);
  }

  /** Starts nothing new, and resolves when what runs has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#running.values());
  }

  async #attempt(row: Row): Promise<void> {
    try {
      const target = { arn: row.target_arn, ruleName: row.rule };
      await this.#options.deliver(target, JSON.parse(row.event));
      this.#options.state.prepare('DELETE FROM events_outbox WHERE id = ?').run(row.id);
    } catch (error) {
      this.#failed(row, error);
    } finally {
      this.#running.delete(row.id);
      this.pump();
    }
  }

  #failed(row: Row, error: unknown): void {
    const { state, now, retryDelayMs } = this.#options;
    const attempts = row.attempts + 1;
    const last = attempts >= row.max_attempts;
    const toDeadLetters = last && row.dead_letter_arn !== null;
    state
      .prepare(
        `UPDATE events_outbox SET attempts = ?, last_error = ?, next_at = ?, parked_at = ?,
           target_arn = ?, dead_letter_arn = ? WHERE id = ?`,
      )
      .run(
        toDeadLetters ? 0 : attempts,
        String(error),
        toDeadLetters ? now() : now() + retryDelayMs(attempts),
        last && !toDeadLetters ? now() : null,
        toDeadLetters ? row.dead_letter_arn : row.target_arn,
        toDeadLetters ? null : row.dead_letter_arn,
        row.id,
      );
    if (last && !toDeadLetters) {
      console.error(`local events: gave up ${row.rule} to ${row.target_arn}: ${String(error)}`);
    }
  }

  #due(now: number): readonly Row[] {
    const statement = this.#options.state.prepare(
      `SELECT * FROM events_outbox WHERE parked_at IS NULL AND next_at <= ?
       ORDER BY next_at, id LIMIT ?`,
    );
    return statement.all(now, 2 * CONCURRENCY) as unknown as Row[];
  }

  /** When the first of the deliveries is due that are not due yet. */
  #nextAfter(now: number): number | undefined {
    const statement = this.#options.state.prepare(
      'SELECT min(next_at) AS at FROM events_outbox WHERE parked_at IS NULL AND next_at > ?',
    );
    const row = statement.get(now) as { at: number | null } | undefined;
    return row?.at ?? undefined;
  }
}
