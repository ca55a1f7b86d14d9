import { randomUUID } from 'node:crypto';
import { mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import { noSuchBucket } from './s3-error.ts';

/** Standard headers and user metadata of an object, by lower-case header name. */
export type ObjectHeaders = Readonly<Record<string, string>>;

export interface StoredObject {
  readonly key: string;
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
  readonly headers: ObjectHeaders;
  /** Base64, by algorithm in lower case. */
  readonly checksums: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
  readonly file: string;
}

export interface Bucket {
  readonly name: string;
  readonly created_at: number;
}

interface Row {
  readonly key: Uint8Array;
  readonly file: string;
  readonly size: number;
  readonly etag: string;
  readonly headers: string;
  readonly checksums: string;
  readonly modified_at: number;
}

// Keys are bytes: they sort as S3 lists them, and no character in them is special.
const SCHEMA = `
CREATE TABLE IF NOT EXISTS s3_bucket (
  name TEXT PRIMARY KEY,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS s3_object (
  bucket TEXT NOT NULL REFERENCES s3_bucket (name),
  key BLOB NOT NULL,
  file TEXT NOT NULL,
  size INTEGER NOT NULL,
  etag TEXT NOT NULL,
  headers TEXT NOT NULL,
  checksums TEXT NOT NULL,
  modified_at INTEGER NOT NULL,
  PRIMARY KEY (bucket, key)
) WITHOUT ROWID;`;

/**
 * Objects: what is known of them in the state database, their bytes in files with random names, so that a key
 * never becomes a path. A file is complete before its row says so; files without a row are swept at the next
 * start.
 */
export class Objects {
  readonly #state: StateDatabase;
  readonly #incoming: string;
  readonly #files: string;

  constructor(state: StateDatabase, dataDir: string) {
    this.#state = state;
    this.#incoming = join(dataDir, 'incoming');
    this.#files = join(dataDir, 'objects');
    state.exec(SCHEMA);
    rmSync(this.#incoming, { recursive: true, force: true });
    mkdirSync(this.#incoming, { recursive: true });
    mkdirSync(this.#files, { recursive: true });
    this.#sweep();
  }

  buckets(): readonly Bucket[] {
    const statement = this.#state.prepare('SELECT * FROM s3_bucket ORDER BY name');
    return statement.all() as unknown as Bucket[];
  }

  hasBucket(bucket: string): boolean {
    return this.#state.prepare('SELECT 1 FROM s3_bucket WHERE name = ?').get(bucket) !== undefined;
  }

  checkBucket(bucket: string): void {
    if (!this.hasBucket(bucket)) throw noSuchBucket(bucket);
  }

  addBucket(bucket: string, now: number): void {
    this.#state.prepare('INSERT INTO s3_bucket VALUES (?, ?)').run(bucket, now);
  }

  deleteBucket(bucket: string): void {
    this.#state.prepare('DELETE FROM s3_bucket WHERE name = ?').run(bucket);
  }

  find(bucket: string, key: string): StoredObject | undefined {
    const statement = this.#state.prepare('SELECT * FROM s3_object WHERE bucket = ? AND key = ?');
    return fromRow(statement.get(bucket, Buffer.from(key)));
  }

  /** The first object whose key is not below `from`. */
  firstFrom(bucket: string, from: Buffer): StoredObject | undefined {
    const statement = this.#state.prepare(
      'SELECT * FROM s3_object WHERE bucket = ? AND key >= ? ORDER BY key LIMIT 1',
    );
    return fromRow(statement.get(bucket, from));
  }

  /** A file to write a body to, given to {@link commit} or {@link discard} afterwards. */
  newFile(): string {
    return join(this.#incoming, randomUUID());
  }

  discard(path: string): void {
    rmSync(path, { force: true });
  }

  /** Makes a written file the object's content. `check` sees what is there now and may throw. */
  commit(
    bucket: string,
    object: Omit<StoredObject, 'file'>,
    path: string,
    check: (current: StoredObject | undefined) => void,
  ): void {
    const file = randomUUID();
    mkdirSync(this.#folderOf(file), { recursive: true });
    const replaced = atomically(this.#state, () => {
      const current = this.find(bucket, object.key);
      check(current);
      this.checkBucket(bucket);
      renameSync(path, this.#pathOf(file));
      this.#state
        .prepare('INSERT OR REPLACE INTO s3_object VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
        .run(
          bucket,
          Buffer.from(object.key),
          file,
          object.size,
          object.etag,
          JSON.stringify(object.headers),
          JSON.stringify(object.checksums),
          object.modifiedAt,
        );
      return current;
    });
    if (replaced) rmSync(this.#pathOf(replaced.file), { force: true });
  }

  delete(bucket: string, key: string): void {
    const object = this.find(bucket, key);
    if (!object) return;
    this.#state
      .prepare('DELETE FROM s3_object WHERE bucket = ? AND key = ?')
      .run(bucket, Buffer.from(key));
    rmSync(this.#pathOf(object.file), { force: true });
  }

  /** Opens the content for reading; later changes of the object do not touch what is open. */
  open(object: StoredObject): number {
    return openSync(this.#pathOf(object.file), 'r');
  }

  #folderOf(file: string): string {
    return join(this.#files, file.slice(0, 2));
  }

  #pathOf(file: string): string {
    return join(this.#folderOf(file), file);
  }

  #sweep(): void {
    const known = this.#state.prepare('SELECT file FROM s3_object').all() as { file: string }[];
    const kept = new Set(known.map(({ file }) => file));
    for (const folder of readdirSync(this.#files)) {
      for (const file of readdirSync(join(this.#files, folder))) {
        if (!kept.has(file)) rmSync(join(this.#files, folder, file), { force: true });
      }
    }
  }
}

function fromRow(row: unknown): StoredObject | undefined {
  if (row === undefined) return undefined;
  const { key, file, size, etag, headers, checksums, modified_at } = row as Row;
  return {
    key: Buffer.from(key).toString(),
    size,
    etag,
    headers: JSON.parse(headers),
    checksums: JSON.parse(checksums),
    modifiedAt: modified_at,
    file,
  };
}
