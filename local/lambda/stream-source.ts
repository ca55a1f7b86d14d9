import {
  DescribeStreamCommand,
  type DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  type Shard,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { type EventSource, Pause } from './event-source.ts';
import type { LambdaInvoker } from './invoker.ts';
import { StreamCheckpoints } from './stream-checkpoints.ts';
import { type DeliverySettings, deliverRecords } from './stream-delivery.ts';
import { sequenceOf } from './stream-event.ts';

export interface StreamSourceOptions {
  readonly streams: Pick<DynamoDBStreamsClient, 'send'>;
  readonly streamArn: string;
  readonly invoker: LambdaInvoker;
  /** Keeps the checkpoints. */
  readonly state: StateDatabase;
  /** 100 by default. */
  readonly batchSize?: number;
  /** Where a shard without a checkpoint begins. LATEST loses what is written while no source runs. */
  readonly startingPosition?: 'TRIM_HORIZON' | 'LATEST';
  readonly reportBatchItemFailures?: boolean;
  /** Lambda's FilterCriteria: other records are passed over, and count as done. */
  readonly filter?: (record: StreamRecord) => boolean;
  readonly bisectBatchOnFunctionError?: boolean;
  /** -1, the default, retries for as long as it takes, and nothing after it is delivered. */
  readonly maxRetryAttempts?: number;
  /** -1, the default, for no limit. */
  readonly maxRecordAgeMs?: number;
  /** By default a line on stderr. */
  readonly onFailure?: DeliverySettings['onFailure'];
  /** Before the retry with this number, counted from 0; by default doubling from 100 ms to 30 s. */
  readonly retryDelayMs?: (retry: number) => number;
  /** How often an empty shard is asked; 50 ms by default, more where `notify` is called after writes. */
  readonly idlePollMs?: number;
}

export interface StreamSource extends EventSource {
  /** Something was written: look now. */
  notify(): void;
}

const FIND_SHARDS_EVERY_MS = 10_000;

/** Invokes a function with the records of a table's stream, in the order of each shard, at least once. */
export function startStreamSource(options: StreamSourceOptions): StreamSource {
  const reader = new StreamReader(options);
  const running = reader.run();
  return {
    notify: () => reader.notify(),
    async stop() {
      reader.stop();
      await running;
    },
  };
}

class StreamReader {
  readonly #options: StreamSourceOptions;
  readonly #checkpoints: StreamCheckpoints;
  readonly #settings: DeliverySettings;
  readonly #stopping = new AbortController();
  readonly #pauses = new Set<Pause>();
  readonly #finding = this.#newPause();
  readonly #reading = new Map<string, Promise<void>>();
  readonly #retryDelayMs: (retry: number) => number;

  constructor(options: StreamSourceOptions) {
    const { invoker, streamArn } = options;
    this.#options = options;
    this.#checkpoints = new StreamCheckpoints(options.state, `${invoker.name} ${streamArn}`);
    this.#retryDelayMs =
      options.retryDelayMs ?? ((retry) => Math.min(30_000, 100 * 2 ** Math.min(retry, 10)));
    this.#settings = {
      invoker,
      streamArn,
      reportBatchItemFailures: options.reportBatchItemFailures ?? false,
      bisect: options.bisectBatchOnFunctionError ?? false,
      maxRetryAttempts: options.maxRetryAttempts ?? -1,
      maxRecordAgeMs: options.maxRecordAgeMs ?? -1,
      onFailure:
        options.onFailure ?? ((batch) => console.error(`lambda ${invoker.name}: gave up`, batch)),
    };
  }

  notify(): void {
    for (const pause of this.#pauses) if (pause !== this.#finding) pause.wake();
  }

  stop(): void {
    this.#stopping.abort();
    for (const pause of this.#pauses) pause.wake();
  }

  /** Until it is stopped: finds shards, new ones of a growing stream included, and reads each of them. */
  async run(): Promise<void> {
    let initial = true;
    for (let failures = 0; !this.#stopping.signal.aborted; ) {
      let waitMs = FIND_SHARDS_EVERY_MS;
      try {
        const shards = await this.#shards();
        for (const shard of shards) this.#begin(shard, shards, initial);
        initial = false;
        failures = 0;
      } catch (error) {
        console.error(`lambda ${this.#options.invoker.name}: finding shards:`, error);
        waitMs = Math.min(waitMs, this.#retryDelayMs(failures));
        failures += 1;
      }
      if (!this.#stopping.signal.aborted) await this.#finding.wait(waitMs);
    }
    await Promise.all(this.#reading.values());
  }

  async #shards(): Promise<Shard[]> {
    const shards: Shard[] = [];
    let lastShardId: string | undefined;
    do {
      const { StreamDescription: stream } = await this.#options.streams.send(
        new DescribeStreamCommand({
          StreamArn: this.#options.streamArn,
          ExclusiveStartShardId: lastShardId,
        }),
      );
      shards.push(...(stream?.Shards ?? []));
      lastShardId = stream?.LastEvaluatedShardId;
    } while (lastShardId);
    return shards;
  }

  /** A child shard has to wait: it holds what came after its parent's records. */
  #begin(shard: Shard, all: readonly Shard[], initial: boolean): void {
    const { ShardId: shardId = '', ParentShardId: parentId } = shard;
    if (this.#reading.has(shardId) || this.#checkpoints.get(shardId).finished) return;
    const parentIsThere = all.some((other) => other.ShardId === parentId);
    if (parentId && parentIsThere && !this.#checkpoints.get(parentId).finished) return;
    // A shard that appears later belongs to what this source has to see, from its beginning.
    const position = initial ? (this.#options.startingPosition ?? 'TRIM_HORIZON') : 'TRIM_HORIZON';
    const reading = this.#read(shardId, position)
      .catch((error: unknown) => console.error(`lambda ${this.#options.invoker.name}:`, error))
      .finally(() => {
        this.#reading.delete(shardId);
        this.#finding.wake();
      });
    this.#reading.set(shardId, reading);
  }

  async #read(shardId: string, position: 'TRIM_HORIZON' | 'LATEST'): Promise<void> {
    const idle = this.#newPause();
    const { streams, batchSize = 100, idlePollMs = 50 } = this.#options;
    let iterator: string | undefined;
    for (let failures = 0; !this.#stopping.signal.aborted; ) {
      try {
        iterator ??= await this.#iterator(shardId, position);
        const page = await streams.send(
          new GetRecordsCommand({ ShardIterator: iterator, Limit: batchSize }),
        );
        failures = 0;
        const records = page.Records ?? [];
        await this.#deliver(shardId, records, idle);
        if (this.#stopping.signal.aborted) break;
        iterator = page.NextShardIterator;
        if (!iterator) {
          this.#checkpoints.save(shardId, { ...this.#checkpoints.get(shardId), finished: true });
          break;
        }
        if (records.length === 0) await idle.wait(idlePollMs);
      } catch (error) {
        iterator = undefined;
        if ((error as Error).name === 'ExpiredIteratorException') continue;
        if ((error as Error).name === 'TrimmedDataAccessException') {
          // The checkpoint has left the stream with all that followed it until now.
          this.#checkpoints.save(shardId, { finished: false });
          continue;
        }
        console.error(`lambda ${this.#options.invoker.name}: reading ${shardId}:`, error);
        await this.#waitUndisturbed(this.#retryDelayMs(failures), idle);
        failures += 1;
      }
    }
    this.#pauses.delete(idle);
  }

  async #deliver(shardId: string, records: readonly StreamRecord[], idle: Pause): Promise<void> {
    const wanted = records.filter(this.#options.filter ?? (() => true));
    const progress = this.#progress(shardId, idle);
    await deliverRecords(this.#settings, shardId, wanted, progress);
    const last = records.at(-1);
    // Also what was passed over, unless delivery was cut short: then it says itself how far it came.
    if (last && !this.#stopping.signal.aborted) progress.done(sequenceOf(last));
  }

  async #iterator(shardId: string, position: 'TRIM_HORIZON' | 'LATEST'): Promise<string> {
    const { sequenceNumber } = this.#checkpoints.get(shardId);
    const { ShardIterator } = await this.#options.streams.send(
      new GetShardIteratorCommand({
        StreamArn: this.#options.streamArn,
        ShardId: shardId,
        ...(sequenceNumber === undefined
          ? { ShardIteratorType: position }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER', SequenceNumber: sequenceNumber }),
      }),
    );
    if (!ShardIterator) throw new Error(`no iterator for ${shardId}`);
    return ShardIterator;
  }

  #progress(shardId: string, pause: Pause) {
    return {
      signal: this.#stopping.signal,
      done: (sequenceNumber: string) =>
        this.#checkpoints.save(shardId, { sequenceNumber, finished: false }),
      wait: (retry: number) => this.#waitUndisturbed(this.#retryDelayMs(retry), pause),
    };
  }

  /** A write wakes an idle shard; it must not hurry the retries of a failing one. */
  async #waitUndisturbed(ms: number, pause: Pause): Promise<void> {
    const endsAt = Date.now() + ms;
    for (let left = ms; left > 0 && !this.#stopping.signal.aborted; left = endsAt - Date.now()) {
      await pause.wait(left);
    }
  }

  #newPause(): Pause {
    const pause = new Pause();
    this.#pauses.add(pause);
    return pause;
  }
}
