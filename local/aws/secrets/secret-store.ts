import type { StateDatabase } from '../kit/state-database.ts';

/** A secret without its values. Times are milliseconds since 1970. */
export interface Secret {
  readonly arn: string;
  readonly name: string;
  readonly description: string | null;
  readonly kms_key_id: string | null;
  /** JSON array of `{ Key, Value }`. */
  readonly tags: string;
  readonly created_at: number;
  readonly changed_at: number;
  /** The day of the last read, as the service shows it. */
  readonly accessed_at: number | null;
  /** When it was scheduled for deletion, and when it goes for good. */
  readonly deleted_at: number | null;
  readonly purge_at: number | null;
}

export interface SecretVersion {
  readonly arn: string;
  readonly id: string;
  readonly text: string | null;
  /** Base64, as the API carries it. */
  readonly binary: string | null;
  /** JSON array of staging labels. */
  readonly stages: string;
  readonly created_at: number;
}

// Keyed by ARN: a secret that is deleted and made again under its name is another secret.
const SCHEMA = `
CREATE TABLE IF NOT EXISTS secrets_secret (
  arn TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  kms_key_id TEXT,
  tags TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  accessed_at INTEGER,
  deleted_at INTEGER,
  purge_at INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets_version (
  arn TEXT NOT NULL REFERENCES secrets_secret (arn) ON DELETE CASCADE,
  id TEXT NOT NULL,
  text TEXT,
  binary TEXT,
  stages TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (arn, id)
) WITHOUT ROWID;`;

/** Rows of secrets and their versions. Callers put what belongs together into one transaction. */
export class SecretStore {
  readonly #state: StateDatabase;

  constructor(state: StateDatabase) {
    this.#state = state;
    state.exec(SCHEMA);
  }

  insert(secret: Secret): void {
    this.#state
      .prepare('INSERT INTO secrets_secret VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
      .run(
        secret.arn,
        secret.name,
        secret.description,
        secret.kms_key_id,
        secret.tags,
        secret.created_at,
        secret.changed_at,
        secret.accessed_at,
        secret.deleted_at,
        secret.purge_at,
      );
  }

  update(secret: Secret, changes: Partial<Omit<Secret, 'arn' | 'name'>>): void {
    for (const [column, value] of Object.entries(changes)) {
      this.#state
        .prepare(`UPDATE secrets_secret SET ${column} = ? WHERE arn = ?`)
        .run(value, secret.arn);
    }
  }

  delete(secret: Secret): void {
    this.#state.prepare('DELETE FROM secrets_secret WHERE arn = ?').run(secret.arn);
  }

  /** Takes away what was scheduled for deletion and is due. */
  purge(now: number): void {
    this.#state.prepare('DELETE FROM secrets_secret WHERE purge_at <= ?').run(now);
  }

  named(name: string): Secret | undefined {
    const statement = this.#state.prepare('SELECT * FROM secrets_secret WHERE name = ?');
    return statement.get(name) as Secret | undefined;
  }

  /** By full ARN, or by an ARN without its random suffix. */
  ofArn(arn: string): Secret | undefined {
    const statement = this.#state.prepare(
      `SELECT * FROM secrets_secret
       WHERE arn = ?1 OR substr(arn, 1, length(arn) - 7) = ?1 ORDER BY arn = ?1 DESC LIMIT 1`,
    );
    return statement.get(arn) as Secret | undefined;
  }

  all(): readonly Secret[] {
    const statement = this.#state.prepare('SELECT * FROM secrets_secret ORDER BY created_at, name');
    return statement.all() as unknown as Secret[];
  }

  version(secret: Secret, id: string): SecretVersion | undefined {
    const statement = this.#state.prepare('SELECT * FROM secrets_version WHERE arn = ? AND id = ?');
    return statement.get(secret.arn, id) as SecretVersion | undefined;
  }

  /** The newest first. */
  versions(secret: Secret): readonly SecretVersion[] {
    const statement = this.#state.prepare(
      'SELECT * FROM secrets_version WHERE arn = ? ORDER BY created_at DESC, id',
    );
    return statement.all(secret.arn) as unknown as SecretVersion[];
  }

  insertVersion(version: SecretVersion): void {
    this.#state
      .prepare('INSERT INTO secrets_version VALUES (?, ?, ?, ?, ?, ?)')
      .run(
        version.arn,
        version.id,
        version.text,
        version.binary,
        version.stages,
        version.created_at,
      );
  }

  label(version: SecretVersion, stages: readonly string[]): void {
    this.#state
      .prepare('UPDATE secrets_version SET stages = ? WHERE arn = ? AND id = ?')
      .run(JSON.stringify(stages), version.arn, version.id);
  }

  deleteVersion(version: SecretVersion): void {
    this.#state
      .prepare('DELETE FROM secrets_version WHERE arn = ? AND id = ?')
      .run(version.arn, version.id);
  }
}
