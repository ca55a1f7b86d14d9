import { atomically, type StateDatabase } from '#local/aws/kit/state-database.ts';
import type { EventOutbox } from './event-outbox.ts';
import { taskStateChange } from './task-events.ts';
import type { Place, Task, TaskRecord, TaskStatus } from './task-record.ts';

export interface TaskFilter {
  readonly clusterName: string;
  readonly desiredStatus: string;
  readonly family?: string;
  readonly startedBy?: string;
  /** Only tasks made after the one with this number. */
  readonly afterSeq?: number;
  readonly limit: number;
}

/** What a client token has bought, so that asking again gives the same. */
export interface TokenUse {
  readonly fingerprint: string;
  readonly taskIds: readonly string[];
}

/** The service promises an hour. */
const STOPPED_TASKS_STAY_MS = 60 * 60_000;
const TOKENS_STAY_MS = 24 * 60 * 60_000;

/** Tasks and client tokens on disk. Each change of a task leaves its event in the outbox, in one transaction. */
export class TaskStore {
  readonly #database: StateDatabase;
  readonly #outbox: EventOutbox;
  readonly #place: Place;

  constructor(database: StateDatabase, outbox: EventOutbox, place: Place) {
    this.#database = database;
    this.#outbox = outbox;
    this.#place = place;
    database.exec(`
      CREATE TABLE IF NOT EXISTS ecs_tasks (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, cluster TEXT NOT NULL,
        family TEXT NOT NULL, started_by TEXT, last_status TEXT NOT NULL, desired_status TEXT NOT NULL,
        stopped_at REAL, record TEXT NOT NULL) STRICT;
      CREATE INDEX IF NOT EXISTS ecs_tasks_by_status ON ecs_tasks (last_status);
      CREATE INDEX IF NOT EXISTS ecs_tasks_by_starter ON ecs_tasks (cluster, started_by);
      CREATE TABLE IF NOT EXISTS ecs_tokens (
        cluster TEXT NOT NULL, token TEXT NOT NULL, fingerprint TEXT NOT NULL, task_ids TEXT NOT NULL,
        used_at REAL NOT NULL, PRIMARY KEY (cluster, token)) STRICT`);
  }

  /** New tasks and the token that bought them: all or nothing. */
  add(records: readonly TaskRecord[], token?: { value: string; fingerprint: string }): void {
    atomically(this.#database, () => {
      for (const record of records) {
        const { task } = record;
        this.#database
          .prepare(
            `INSERT INTO ecs_tasks
             (id, cluster, family, started_by, last_status, desired_status, record)
             VALUES (?, ?, ?, ?, ?, ?, ?)`,
          )
          .run(
            record.id,
            record.clusterName,
            record.family,
            task.startedBy ?? null,
            task.lastStatus,
            task.desiredStatus,
            JSON.stringify(record),
          );
        this.#outbox.append(taskStateChange(this.#place, task));
      }
      const [first] = records;
      if (token && first) {
        const ids = JSON.stringify(records.map(({ id }) => id));
        this.#database
          .prepare('INSERT INTO ecs_tokens VALUES (?, ?, ?, ?, ?)')
          .run(first.clusterName, token.value, token.fingerprint, ids, Date.now());
      }
    });
    this.#outbox.wake();
  }

  /** Changes a task: its version rises and its event is made. Returns it as it is now. */
  change(id: string, apply: (task: Task, record: TaskRecord) => void): TaskRecord {
    const changed = atomically(this.#database, () => {
      const record = this.#mustGet(id);
      apply(record.task, record);
      record.task.version += 1;
      this.#write(record);
      this.#outbox.append(taskStateChange(this.#place, record.task));
      return record;
    });
    this.#outbox.wake();
    return changed;
  }

  /** Changes what no event tells of: tags, notes of our own. */
  note(id: string, apply: (record: TaskRecord) => void): void {
    atomically(this.#database, () => {
      const record = this.#mustGet(id);
      apply(record);
      this.#write(record);
    });
  }

  get(id: string): TaskRecord | undefined {
    const row = this.#database.prepare('SELECT record FROM ecs_tasks WHERE id=?').get(id);
    return row && JSON.parse(String(row.record));
  }

  /** Every task that has not ended, oldest first. */
  unfinished(): TaskRecord[] {
    return this.#database
      .prepare("SELECT record FROM ecs_tasks WHERE last_status <> 'STOPPED' ORDER BY seq")
      .all()
      .map((row) => JSON.parse(String(row.record)));
  }

  /** In the order of their making, each with its number in that order. */
  list(filter: TaskFilter): { seq: number; record: TaskRecord }[] {
    return this.#database
      .prepare(
        `SELECT seq, record FROM ecs_tasks
         WHERE cluster = :cluster AND desired_status = :desired
           AND (:family IS NULL OR family = :family)
           AND (:startedBy IS NULL OR started_by = :startedBy)
           AND seq > :afterSeq
         ORDER BY seq LIMIT :limit`,
      )
      .all({
        cluster: filter.clusterName,
        desired: filter.desiredStatus,
        family: filter.family ?? null,
        startedBy: filter.startedBy ?? null,
        afterSeq: filter.afterSeq ?? 0,
        limit: filter.limit,
      })
      .map((row) => ({ seq: Number(row.seq), record: JSON.parse(String(row.record)) }));
  }

  count(clusterName: string, statuses: readonly TaskStatus[]): number {
    const row = this.#database
      .prepare(
        `SELECT count(*) AS tasks FROM ecs_tasks
         WHERE cluster = ? AND last_status IN (SELECT value FROM json_each(?))`,
      )
      .get(clusterName, JSON.stringify(statuses));
    return Number(row?.tasks);
  }

  findToken(clusterName: string, value: string): TokenUse | undefined {
    const row = this.#database
      .prepare('SELECT fingerprint, task_ids FROM ecs_tokens WHERE cluster=? AND token=?')
      .get(clusterName, value);
    return (
      row && { fingerprint: String(row.fingerprint), taskIds: JSON.parse(String(row.task_ids)) }
    );
  }

  /** Forgets what the service may forget: a token does not outlive the tasks it bought. Log files stay. */
  prune(): void {
    const now = Date.now();
    this.#database
      .prepare('DELETE FROM ecs_tasks WHERE stopped_at < ?')
      .run((now - STOPPED_TASKS_STAY_MS) / 1000);
    this.#database
      .prepare(
        `DELETE FROM ecs_tokens WHERE used_at < ? OR NOT EXISTS (
           SELECT 1 FROM ecs_tasks WHERE id IN (SELECT value FROM json_each(task_ids)))`,
      )
      .run(now - TOKENS_STAY_MS);
  }

  #mustGet(id: string): TaskRecord {
    const record = this.get(id);
    if (!record) throw new Error(`no task ${id}`);
    return record;
  }

  #write(record: TaskRecord): void {
    const { task } = record;
    this.#database
      .prepare(
        'UPDATE ecs_tasks SET last_status=?, desired_status=?, stopped_at=?, record=? WHERE id=?',
      )
      .run(
        task.lastStatus,
        task.desiredStatus,
        task.stoppedAt ?? null,
        JSON.stringify(record),
        record.id,
      );
  }
}
