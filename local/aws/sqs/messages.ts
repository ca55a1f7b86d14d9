import { randomBytes, randomUUID } from 'node:crypto';
import type { SQLInputValue, StatementSync } from 'node:sqlite';
import type { StateDatabase } from '../kit/state-database.ts';
import type { Queue } from './queues.ts';

/** A stored message. Times are milliseconds since 1970. */
export interface Message {
  /** Rises with every message ever sent; never used twice. */
  readonly seq: number;
  readonly queue: string;
  readonly id: string;
  readonly sent_at: number;
  readonly visible_at: number;
  /** Receives since it entered this queue; with a later `visible_at` it is in flight, with 0 it is delayed. */
  readonly received: number;
  /** All receives, as `ApproximateReceiveCount` shows them: moving to a dead-letter queue keeps it. */
  readonly receive_count: number;
  readonly first_received_at: number | null;
  readonly received_at: number | null;
  /** Names the last receive; only its receipt handle deletes the message. */
  readonly nonce: string | null;
  /** Empty when the message has no group. */
  readonly group_id: string;
  readonly dedup_id: string | null;
  /** The queue it was dead-lettered from. */
  readonly source_arn: string | null;
  readonly trace: string | null;
  /** JSON. */
  readonly attributes: string;
  readonly body: string;
}

export type NewMessage = Pick<
  Message,
  'queue' | 'sent_at' | 'visible_at' | 'group_id' | 'dedup_id' | 'trace' | 'attributes' | 'body'
>;

/** The columns that decide who gets what; bodies stay on disk. */
export type Candidate = Pick<
  Message,
  'seq' | 'group_id' | 'visible_at' | 'received' | 'receive_count' | 'sent_at'
>;

export interface Counts {
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/** What was stored under a deduplication id. */
export interface Deduplicated {
  readonly message_id: string;
  readonly seq: number;
}

const DEDUPLICATION_MS = 5 * 60_000;

// `body` is last, so that deciding does not page through it. The index on (queue) alone is in order of `seq`.
const SCHEMA = `
CREATE TABLE IF NOT EXISTS sqs_message (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,
  id TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  visible_at INTEGER NOT NULL,
  received INTEGER NOT NULL DEFAULT 0,
  receive_count INTEGER NOT NULL DEFAULT 0,
  first_received_at INTEGER,
  received_at INTEGER,
  nonce TEXT,
  group_id TEXT NOT NULL,
  dedup_id TEXT,
  source_arn TEXT,
  trace TEXT,
  attributes TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS sqs_message_visible ON sqs_message (queue, visible_at);
CREATE INDEX IF NOT EXISTS sqs_message_order ON sqs_message (queue);
CREATE TABLE IF NOT EXISTS sqs_deduplication (
  queue TEXT NOT NULL,
  scope TEXT NOT NULL,
  dedup_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (queue, scope, dedup_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sqs_deduplication_age ON sqs_deduplication (at);`;

const CANDIDATE = 'seq, group_id, visible_at, received, receive_count, sent_at';

/** Rows of messages. Callers put what belongs together into one transaction. */
export class Messages {
  readonly #state: StateDatabase;
  readonly #statements = new Map<string, StatementSync>();

  constructor(state: StateDatabase) {
    this.#state = state;
    state.exec(SCHEMA);
  }

  insert(message: NewMessage): Pick<Message, 'id' | 'seq'> {
    const id = randomUUID();
    const { lastInsertRowid } = this.#run(
      `INSERT INTO sqs_message
         (queue, id, sent_at, visible_at, group_id, dedup_id, trace, attributes, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      message.queue,
      id,
      message.sent_at,
      message.visible_at,
      message.group_id,
      message.dedup_id,
      message.trace,
      message.attributes,
      message.body,
    );
    return { id, seq: Number(lastInsertRowid) };
  }

  deduplicated(
    queue: Queue,
    scope: string,
    dedupId: string,
    now: number,
  ): Deduplicated | undefined {
    return this.#get<Deduplicated>(
      `SELECT message_id, seq FROM sqs_deduplication
       WHERE queue = ? AND scope = ? AND dedup_id = ? AND at > ?`,
      queue.name,
      scope,
      dedupId,
      now - DEDUPLICATION_MS,
    );
  }

  /** Remembers a deduplication id for five minutes and forgets those that are older. */
  remember(queue: Queue, scope: string, dedupId: string, now: number, sent: Deduplicated): void {
    this.#run('DELETE FROM sqs_deduplication WHERE at <= ?', now - DEDUPLICATION_MS);
    this.#run(
      'INSERT OR REPLACE INTO sqs_deduplication VALUES (?, ?, ?, ?, ?, ?)',
      queue.name,
      scope,
      dedupId,
      now,
      sent.message_id,
      sent.seq,
    );
  }

  /** Visible messages, those visible for longest first. */
  visible(queue: Queue, now: number): Iterable<Candidate> {
    return this.#iterate<Candidate>(
      `SELECT ${CANDIDATE} FROM sqs_message WHERE queue = ? AND visible_at <= ?
       ORDER BY visible_at, seq`,
      queue.name,
      now,
    );
  }

  /** All messages in the order they were sent. */
  inOrder(queue: Queue): Iterable<Candidate> {
    return this.#iterate<Candidate>(
      `SELECT ${CANDIDATE} FROM sqs_message INDEXED BY sqs_message_order WHERE queue = ?
       ORDER BY seq`,
      queue.name,
    );
  }

  /** Messages in flight by group; those without a group are together under the empty name. */
  inFlightByGroup(queue: Queue, now: number): ReadonlyMap<string, number> {
    const rows = this.#iterate<{ group_id: string; count: number }>(
      `SELECT group_id, count(*) AS count FROM sqs_message
       WHERE queue = ? AND visible_at > ? AND received > 0 GROUP BY group_id`,
      queue.name,
      now,
    );
    return new Map(Array.from(rows, ({ group_id, count }) => [group_id, count]));
  }

  /** Hands a message to a receiver until `visibleAt`. */
  claim(seq: number, now: number, visibleAt: number): Message {
    const row = this.#get<Message>(
      `UPDATE sqs_message SET visible_at = ?, received = received + 1,
         receive_count = receive_count + 1, first_received_at = coalesce(first_received_at, ?),
         received_at = ?, nonce = ?
       WHERE seq = ? RETURNING *`,
      visibleAt,
      now,
      now,
      randomBytes(9).toString('base64url'),
      seq,
    );
    if (!row) throw new Error(`message ${seq} vanished inside a transaction`);
    return row;
  }

  find(seq: number): Message | undefined {
    return this.#get<Message>('SELECT * FROM sqs_message WHERE seq = ?', seq);
  }

  delete(seq: number): void {
    this.#run('DELETE FROM sqs_message WHERE seq = ?', seq);
  }

  hideUntil(seq: number, visibleAt: number): void {
    this.#run('UPDATE sqs_message SET visible_at = ? WHERE seq = ?', visibleAt, seq);
  }

  /** Takes back what is in flight: it shows itself at once, and was never received. */
  unreceive(queue: Queue, now: number): void {
    this.#run(
      `UPDATE sqs_message SET visible_at = ?1, received = received - 1,
         receive_count = receive_count - 1, nonce = NULL
       WHERE queue = ?2 AND visible_at > ?1 AND received > 0`,
      now,
      queue.name,
    );
  }

  /** Dead-letters a message. A standard queue keeps the time it was sent, a FIFO queue counts anew. */
  moveToDeadLetters(seq: number, source: Queue, target: Queue, now: number): void {
    this.#run(
      `UPDATE sqs_message SET queue = ?, visible_at = ?, received = 0, nonce = NULL,
         source_arn = ?, sent_at = CASE WHEN ? THEN ? ELSE sent_at END WHERE seq = ?`,
      target.name,
      now,
      source.arn,
      target.fifo ? 1 : 0,
      now,
      seq,
    );
  }

  /** Moves a message out of a dead-letter queue: it counts as newly sent. */
  redrive(seq: number, target: Queue, now: number): void {
    this.#run(
      `UPDATE sqs_message SET queue = ?, id = ?, sent_at = ?, visible_at = ?, received = 0,
         receive_count = 0, first_received_at = NULL, received_at = NULL, nonce = NULL,
         source_arn = NULL WHERE seq = ?`,
      target.name,
      randomUUID(),
      now,
      now,
      seq,
    );
  }

  /** Visible messages with the queue they were dead-lettered from. */
  redrivable(queue: Queue, now: number, limit: number): Pick<Message, 'seq' | 'source_arn'>[] {
    return [
      ...this.#iterate<Pick<Message, 'seq' | 'source_arn'>>(
        `SELECT seq, source_arn FROM sqs_message WHERE queue = ? AND visible_at <= ?
         ORDER BY visible_at, seq LIMIT ?`,
        queue.name,
        now,
        limit,
      ),
    ];
  }

  deleteSentBefore(queue: Queue, time: number): void {
    this.#run('DELETE FROM sqs_message WHERE queue = ? AND sent_at <= ?', queue.name, time);
  }

  deleteAll(queue: Queue): void {
    this.#run('DELETE FROM sqs_message WHERE queue = ?', queue.name);
  }

  forgetDeduplication(queue: Queue): void {
    this.#run('DELETE FROM sqs_deduplication WHERE queue = ?', queue.name);
  }

  count(queue: Queue, now: number): Counts {
    const row = this.#get<Record<keyof Counts, number | null>>(
      `SELECT sum(visible_at <= ?1) AS visible,
         sum(visible_at > ?1 AND received > 0) AS inFlight,
         sum(visible_at > ?1 AND received = 0) AS delayed
       FROM sqs_message WHERE queue = ?2`,
      now,
      queue.name,
    );
    return {
      visible: row?.visible ?? 0,
      inFlight: row?.inFlight ?? 0,
      delayed: row?.delayed ?? 0,
    };
  }

  /** When the first message shows itself that is hidden at `time`. */
  nextVisibleAfter(queue: string, time: number): number | undefined {
    const row = this.#get<{ at: number | null }>(
      'SELECT min(visible_at) AS at FROM sqs_message WHERE queue = ? AND visible_at > ?',
      queue,
      time,
    );
    return row?.at ?? undefined;
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#state.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #run(sql: string, ...parameters: SQLInputValue[]) {
    return this.#statement(sql).run(...parameters);
  }

  #get<T>(sql: string, ...parameters: SQLInputValue[]): T | undefined {
    return this.#statement(sql).get(...parameters) as T | undefined;
  }

  #iterate<T>(sql: string, ...parameters: SQLInputValue[]): Iterable<T> {
    return this.#statement(sql).iterate(...parameters) as Iterable<T>;
  }
}
