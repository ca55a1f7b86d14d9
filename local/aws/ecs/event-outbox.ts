import { setTimeout as delay } from 'node:timers/promises';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';

/** Takes one event; what it throws means "not taken", and the event is offered again. */
export type Emit = (event: object) => void | Promise<void>;

const RETRY_MS = { first: 100, most: 5_000 };

/**
 * Events wait here from the transaction that made them until they were taken, so each is emitted at least
 * once whatever happens to the process, and in the order they were made.
 */
export class EventOutbox {
  readonly #database: StateDatabase;
  readonly #emit: Emit;
  readonly #closing = new AbortController();
  #draining: Promise<void> | undefined;

  constructor(database: StateDatabase, emit: Emit) {
    this.#database = database;
    this.#emit = emit;
    database.exec(`CREATE TABLE IF NOT EXISTS ecs_outbox (
      seq INTEGER PRIMARY KEY AUTOINCREMENT, event TEXT NOT NULL) STRICT`);
  }

  /** To be called inside the transaction that makes the change; call {@link wake} after it. */
  append(event: object): void {
    this.#database.prepare('INSERT INTO ecs_outbox (event) VALUES (?)').run(JSON.stringify(event));
  }

  wake(): void {
    if (this.#closing.signal.aborted || this.#draining) return;
    this.#draining = this.#drain().finally(() => {
      this.#draining = undefined;
      // An event may have come after the last look and before this line.
      if (this.#next()) this.wake();
    });
  }

  /** Resolves when every event so far was taken. */
  async flushed(): Promise<void> {
    for (this.wake(); this.#draining; ) await this.#draining;
  }

  /** What was not taken yet stays for the next stack. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#draining;
  }

  #next(): Record<string, unknown> | undefined {
    return this.#database.prepare('SELECT seq, event FROM ecs_outbox ORDER BY seq LIMIT 1').get();
  }

  async #drain(): Promise<void> {
    let waitMs = RETRY_MS.first;
    // Never inside the caller's turn: whoever changes a task does not wait for its listeners.
    await Promise.resolve();
    while (!this.#closing.signal.aborted) {
      const row = this.#next();
      if (!row) return;
      try {
        await this.#emit(JSON.parse(String(row.event)));
        this.#database.prepare('DELETE FROM ecs_outbox WHERE seq=?').run(Number(row.seq));
        waitMs = RETRY_MS.first;
      } catch (error) {
        console.error('local ECS: an event was not taken and will be offered again:', error);
        await delay(waitMs, undefined, { signal: this.#closing.signal, ref: false }).catch(
          () => {},
        );
        waitMs = Math.min(waitMs * 2, RETRY_MS.most);
      }
    }
  }
}
