import type { StateDatabase } from '#local/aws/kit/state-database.ts';

/** How far a source has come in a shard. `finished`: the shard is closed and was read to its end. */
export interface Checkpoint {
  readonly sequenceNumber?: string;
  readonly finished: boolean;
}

/** Checkpoints on disk, so that a restart goes on where the last run stopped. */
export class StreamCheckpoints {
  readonly #database: StateDatabase;
  readonly #source: string;

  /** `source` names the reader and its stream; two sources with one name would share their progress. */
  constructor(database: StateDatabase, source: string) {
    this.#database = database;
    this.#source = source;
    database.exec(`CREATE TABLE IF NOT EXISTS lambda_checkpoints (
      source TEXT NOT NULL, shard TEXT NOT NULL, sequence TEXT, finished INTEGER NOT NULL,
      PRIMARY KEY (source, shard)) STRICT`);
  }

  get(shardId: string): Checkpoint {
    const row = this.#database
      .prepare('SELECT sequence, finished FROM lambda_checkpoints WHERE source=? AND shard=?')
      .get(this.#source, shardId);
    return {
      finished: row?.finished === 1,
      ...(typeof row?.sequence === 'string' ? { sequenceNumber: row.sequence } : {}),
    };
  }

  save(shardId: string, checkpoint: Checkpoint): void {
    this.#database
      .prepare('INSERT OR REPLACE INTO lambda_checkpoints VALUES (?, ?, ?, ?)')
      .run(this.#source, shardId, checkpoint.sequenceNumber ?? null, checkpoint.finished ? 1 : 0);
  }
}
