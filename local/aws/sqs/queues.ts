import type { StateDatabase } from '../kit/state-database.ts';
import type { Attributes, KnownQueues } from './queue-attributes.ts';
import { effectiveAttributes, redrivePolicyOf } from './queue-attributes.ts';
import { missingParameter, queueDoesNotExist } from './sqs-error.ts';

export interface Queue {
  readonly name: string;
  readonly arn: string;
  readonly fifo: boolean;
  /** Only what was set; {@link Queue.effective} has the defaults too. */
  readonly set: Attributes;
  readonly effective: Attributes;
  readonly tags: Readonly<Record<string, string>>;
  /** Seconds since 1970, as the API shows them. */
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Milliseconds since 1970. */
  readonly purgedAt: number | null;
}

export interface QueueAddress {
  readonly region: string;
  readonly accountId: string;
  /** Asked at every answer, since the port is known only when the endpoint listens. */
  readonly endpointUrl: () => string;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS sqs_queue (
  name TEXT PRIMARY KEY,
  attributes TEXT NOT NULL,
  tags TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  modified_at INTEGER NOT NULL,
  purged_at INTEGER
) WITHOUT ROWID`;

type Row = Record<'name' | 'attributes' | 'tags', string> &
  Record<'created_at' | 'modified_at', number> & { purged_at: number | null };

/** The queues that exist, kept in memory and written through to the state database. */
export class Queues implements KnownQueues {
  readonly #state: StateDatabase;
  readonly #address: QueueAddress;
  readonly #byName = new Map<string, Queue>();

  constructor(state: StateDatabase, address: QueueAddress) {
    this.#state = state;
    this.#address = address;
    state.exec(SCHEMA);
    for (const row of state.prepare('SELECT * FROM sqs_queue').all() as unknown as Row[]) {
      this.#byName.set(row.name, this.#fromRow(row));
    }
  }

  /** The queue of a `QueueUrl`; throws `QueueDoesNotExist`. Only the last part of the path counts. */
  ofUrl(url: unknown): Queue {
    if (typeof url !== 'string' || url === '') throw missingParameter('QueueUrl');
    return this.named(url.slice(url.lastIndexOf('/') + 1));
  }

  named(name: unknown): Queue {
    const queue = this.#byName.get(String(name));
    if (!queue) throw queueDoesNotExist();
    return queue;
  }

  find(name: string): Queue | undefined {
    return this.#byName.get(name);
  }

  ofArn(arn: string): Queue | undefined {
    const queue = this.#byName.get(arn.slice(arn.lastIndexOf(':') + 1));
    return queue?.arn === arn ? queue : undefined;
  }

  isFifo(arn: string): boolean | undefined {
    return this.ofArn(arn)?.fifo;
  }

  /** By name. */
  all(): readonly Queue[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The queues that send their failures to this one. */
  sourcesOf(deadLetter: Queue): readonly Queue[] {
    return this.all().filter(
      (queue) => redrivePolicyOf(queue.set)?.deadLetterTargetArn === deadLetter.arn,
    );
  }

  urlOf(queue: Queue): string {
    return `${this.#address.endpointUrl()}/${this.#address.accountId}/${queue.name}`;
  }

  /** Creates the queue or replaces what is known of it. */
  save(queue: Omit<Queue, 'arn' | 'fifo' | 'effective'>): Queue {
    const row: Row = {
      name: queue.name,
      attributes: JSON.stringify(queue.set),
      tags: JSON.stringify(queue.tags),
      created_at: queue.createdAt,
      modified_at: queue.modifiedAt,
      purged_at: queue.purgedAt,
    };
    this.#state
      .prepare(
        `INSERT OR REPLACE INTO sqs_queue VALUES
         (:name, :attributes, :tags, :created_at, :modified_at, :purged_at)`,
      )
      .run(row);
    const saved = this.#fromRow(row);
    this.#byName.set(saved.name, saved);
    return saved;
  }

  delete(queue: Queue): void {
    this.#state.prepare('DELETE FROM sqs_queue WHERE name = ?').run(queue.name);
    this.#byName.delete(queue.name);
  }

  #fromRow(row: Row): Queue {
    const set = JSON.parse(row.attributes) as Attributes;
    const fifo = row.name.endsWith('.fifo');
    return {
      name: row.name,
      arn: `arn:aws:sqs:${this.#address.region}:${this.#address.accountId}:${row.name}`,
      fifo,
      set,
      effective: effectiveAttributes(fifo, set),
      tags: JSON.parse(row.tags),
      createdAt: row.created_at,
      modifiedAt: row.modified_at,
      purgedAt: row.purged_at,
    };
  }
}
