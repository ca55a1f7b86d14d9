import type {
  Context,
  DynamoDBBatchResponse,
  DynamoDBRecord,
  DynamoDBStreamEvent,
} from 'aws-lambda';
import type { Kernel } from '../kernel/kernel.ts';
import type { Faults } from './faults.ts';
import type { Lambdas } from './lambda.ts';

export interface StreamConsumer {
  readonly name: string;
  readonly timeoutMs: number;
  readonly batchSize: number;
  /** The event source's filter: attributes of an inserted item, and the texts each may have. */
  readonly inserts: Readonly<Record<string, readonly string[]>>;
  readonly handler: (
    event: DynamoDBStreamEvent,
    context: Context,
  ) => Promise<DynamoDBBatchResponse>;
}

interface Shard {
  readonly records: DynamoDBRecord[];
  /** Everything before it is done. */
  next: number;
  busy: boolean;
  failures: number;
}

const SHARDS = 2;
const MAX_RETRY_WAIT_MS = 10_000;

/** The table's stream and what reads it for a function: in order per item, at least once, whole batches again. */
export class SimulatedStream {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #lambdas: Lambdas;
  readonly #consumers: { readonly consumer: StreamConsumer; readonly shards: Shard[] }[] = [];

  constructor(kernel: Kernel, faults: Faults, lambdas: Lambdas) {
    this.#kernel = kernel;
    this.#faults = faults;
    this.#lambdas = lambdas;
  }

  connect(consumer: StreamConsumer): void {
    const shards = Array.from({ length: SHARDS }, () => ({
      records: [],
      next: 0,
      busy: false,
      failures: 0,
    }));
    this.#consumers.push({ consumer, shards });
  }

  /** Every consumer has seen all there is. */
  get isDrained(): boolean {
    return this.#consumers.every(({ shards }) =>
      shards.every(({ records, next, busy }) => !busy && next >= records.length),
    );
  }

  append(records: readonly DynamoDBRecord[]): void {
    for (const { consumer, shards } of this.#consumers) {
      for (const record of records) {
        if (!isWanted(record, consumer.inserts)) continue;
        const shard = shards[shardOf(record)];
        shard?.records.push(record);
        if (shard) this.#readLater(consumer, shard);
      }
    }
  }

  #readLater(consumer: StreamConsumer, shard: Shard): void {
    const faults = this.#faults;
    const late = faults.hits('stream.late') ? faults.random.between(1_000, 60_000) : 0;
    const retry = shard.failures > 0 ? Math.min(MAX_RETRY_WAIT_MS, 500 * 2 ** shard.failures) : 0;
    this.#kernel.after(late + retry + 300 * faults.random.unit(), () =>
      this.#read(consumer, shard),
    );
  }

  #read(consumer: StreamConsumer, shard: Shard): void {
    if (shard.busy || shard.next >= shard.records.length) return;
    const { random } = this.#faults;
    const size = random.chance(0.5) ? consumer.batchSize : random.between(1, 4);
    const batch = shard.records.slice(shard.next, shard.next + size);
    shard.busy = true;
    const actor = this.#lambdas.invoke(
      consumer.name,
      consumer.timeoutMs,
      (context) => consumer.handler({ Records: batch }, context),
      (invocation) => {
        shard.busy = false;
        const done = invocation.outcome === 'returned' ? this.#doneOf(batch, invocation.value) : 0;
        this.#kernel.note(`${actor.name} ${invocation.outcome}, ${done} of ${batch.length} done`);
        shard.failures = done < batch.length ? shard.failures + 1 : 0;
        shard.next += done;
        this.#readLater(consumer, shard);
      },
    );
    this.#kernel.note(`${actor.name} ← records ${shard.next}…${shard.next + batch.length - 1}`);
  }

  /** Up to the first failure; sometimes the checkpoint itself is lost, and all comes again. */
  #doneOf(batch: readonly DynamoDBRecord[], answer: DynamoDBBatchResponse): number {
    if (this.#faults.hits('stream.again')) return 0;
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    const first = batch.findIndex(({ dynamodb }) => failed.has(dynamodb?.SequenceNumber ?? ''));
    return first === -1 ? batch.length : first;
  }
}

function isWanted(record: DynamoDBRecord, inserts: StreamConsumer['inserts']): boolean {
  if (record.eventName !== 'INSERT') return false;
  const image = record.dynamodb?.NewImage ?? {};
  return Object.entries(inserts).every(([name, texts]) => texts.includes(image[name]?.S ?? ''));
}

/** All changes of one partition go one way, in order. */
function shardOf(record: DynamoDBRecord): number {
  const pk = record.dynamodb?.Keys?.pk?.S ?? '';
  let hash = 0;
  for (let at = 0; at < pk.length; at += 1) hash = (Math.imul(hash, 31) + pk.charCodeAt(at)) | 0;
  return Math.abs(hash) % SHARDS;
}
