import type { LossReason, NewEvent } from '#shared/contracts/index.ts';
import { EventTally } from './event-tally.ts';
import {
  bytesOf,
  IMPORTANCES,
  importanceOf,
  jsonBytes,
  prefixSize,
  type QueuedEvent,
  weightsOf,
} from './queued-event.ts';
import type { Spool } from './spool.ts';

export interface EventQueueOptions {
  /** Left out: there is only memory. */
  readonly spool?: { readonly store: Spool; readonly bytes: number };
  /** Bytes of waiting events in memory; twice as many where there is no spool. */
  readonly memoryBytes: number;
  /** Told once when the spool fails: from then on there is only memory. */
  readonly onSpoolFailure: (error: unknown) => void;
  /** Of the `events.lost` events. */
  readonly timestamp: () => string;
}

/** Part of the queue on disk. An emptied one has no file; it may still be where a loss is told. */
interface Chunk {
  readonly id: number;
  tally: EventTally;
  /** Bytes by importance, see {@link importanceOf}. */
  weights: number[];
}

interface Loss {
  readonly reason: LossReason;
  readonly tally: EventTally;
  /** Before which event of which chunk the first one is missing. */
  chunkId: number;
  index: number;
}

const CHUNK_BYTES = 64 * 1024;

/**
 * Events in order, from the host to the gateway: the oldest in memory (the head, from which batches are taken), then
 * chunks on disk, then the newest in memory (the tail). Memory and disk are bounded. What does not fit is dropped, the
 * least important first and of these the oldest, and one `events.lost` event stands where the first of it stood.
 *
 * Events of the head are never dropped: one that was sent may be stored although its answer was lost.
 */
export class EventQueue {
  readonly #options: EventQueueOptions;
  #head: QueuedEvent[] = [];
  #headBytes = 0;
  #chunks: Chunk[] = [];
  #spooled = 0;
  #tail: QueuedEvent[] = [];
  #tailBytes = 0;
  /** Of the chunk that the tail will be. */
  #nextChunk = 1;
  #produced = 0;
  #loss: Loss | undefined;
  #lostEvents = 0;
  /** Undefined when there is none, or none any more. */
  #spool: EventQueueOptions['spool'];
  #busy: Promise<unknown> = Promise.resolve();

  constructor(options: EventQueueOptions) {
    this.#options = options;
    this.#spool = options.spool;
  }

  get events(): number {
    const onDisk = this.#chunks.reduce((sum, { tally }) => sum + tally.count, 0);
    return this.#head.length + onDisk + this.#tail.length;
  }

  get bytes(): number {
    return this.#headBytes + this.#spooled + this.#tailBytes;
  }

  get spooledBytes(): number {
    return this.#spooled;
  }

  get lostEvents(): number {
    return this.#lostEvents;
  }

  get isEmpty(): boolean {
    return this.#head.length + this.#chunks.length + this.#tail.length === 0;
  }

  /** Something waits on disk: what comes later must queue behind it. */
  get isSpooling(): boolean {
    return this.#chunks.length > 0;
  }

  get isOverMemory(): boolean {
    return this.#headBytes + this.#tailBytes > this.#options.memoryBytes;
  }

  add(event: NewEvent): void {
    this.#produced += 1;
    const entry = { event, bytes: jsonBytes(event), produced: this.#produced };
    const behind = this.isSpooling || this.#tail.length > 0;
    if (behind || this.#headBytes >= this.#options.memoryBytes) {
      this.#tail.push(entry);
      this.#tailBytes += entry.bytes;
    } else {
      this.#head.push(entry);
      this.#headBytes += entry.bytes;
    }
  }

  /** The oldest events, as many as fit; none only when the queue is empty. They stay until they are removed. */
  async first(limits: { bytes: number; events: number }): Promise<QueuedEvent[]> {
    if (this.#headBytes < limits.bytes && (this.isSpooling || this.#tail.length > 0)) {
      await this.#exclusively(() => this.#refill(limits.bytes));
    }
    return this.#prefix(limits);
  }

  removeFirst(count: number): void {
    for (const { bytes } of this.#head.splice(0, count)) this.#headBytes -= bytes;
  }

  /** Puts another event into the place of the oldest one. */
  replaceFirst(event: NewEvent): void {
    const [first] = this.#head;
    if (!first) return;
    const bytes = jsonBytes(event);
    this.#head[0] = { ...first, event, bytes };
    this.#headBytes += bytes - first.bytes;
  }

  /** The oldest event will never be stored: what stands in its place says so. */
  loseFirst(reason: LossReason): void {
    const [first] = this.#head;
    if (!first) return;
    this.#lostEvents += 1;
    this.replaceFirst(EventTally.of([first]).toLostEvent(reason, this.#options.timestamp()));
  }

  /**
   * Moves the newest events from memory to disk.
   *
   * @returns `full` when there is no room and nothing may be dropped; memory is then over its bound
   */
  async spill(options: { mayDrop: boolean }): Promise<'done' | 'full'> {
    return await this.#exclusively(async () => {
      while (this.#spool && this.#tailBytes >= CHUNK_BYTES) {
        const size = prefixSize(this.#tail, { bytes: CHUNK_BYTES, events: Infinity });
        const bytes = bytesOf(this.#tail.slice(0, size));
        if (this.#spooled + bytes > this.#spool.bytes && !options.mayDrop) return 'full';
        await this.#spillChunk(this.#tail.splice(0, size));
      }
      if (this.#spool || this.#tailBytes <= this.#options.memoryBytes) return 'done';
      if (!options.mayDrop) return 'full';
      this.#thinTail();
      return 'done';
    });
  }

  /**
   * Ends the queue: the oldest events, at most as many as fit, and behind them what says that the others are lost.
   * What was sent before in vain is always among the oldest.
   */
  async close(reason: LossReason, limits: { bytes: number; events: number }): Promise<NewEvent[]> {
    return await this.#exclusively(async () => {
      const kept = this.#prefix(limits);
      const others = EventTally.of([...this.#head.slice(kept.length), ...this.#tail]);
      for (const { tally } of this.#chunks) others.addAll(tally);
      this.#lostEvents += others.count;
      const tally = this.#loss?.tally ?? new EventTally();
      tally.addAll(others);
      const lost =
        tally.count > 0
          ? [tally.toLostEvent(this.#loss?.reason ?? reason, this.#options.timestamp())]
          : [];
      this.#head = [];
      this.#tail = [];
      this.#chunks = [];
      this.#headBytes = 0;
      this.#tailBytes = 0;
      this.#spooled = 0;
      this.#loss = undefined;
      return [...kept.map(({ event }) => event), ...lost];
    });
  }

  #prefix(limits: { bytes: number; events: number }): QueuedEvent[] {
    return this.#head.slice(0, prefixSize(this.#head, limits));
  }

  async #refill(bytes: number): Promise<void> {
    while (this.#headBytes < bytes) {
      const chunk = this.#chunks[0];
      if (!chunk) {
        this.#takeOver(this.#nextChunk, this.#tail.splice(0));
        this.#tailBytes = 0;
        this.#nextChunk += 1;
        return;
      }
      const entries = await this.#read(chunk);
      // Only now: an event that comes meanwhile must still find something before it.
      this.#chunks.shift();
      this.#spooled -= chunk.tally.bytes;
      this.#takeOver(chunk.id, entries);
      await this.#options.spool?.store
        .remove(nameOf(chunk))
        .catch((error: unknown) => this.#failSpool(error));
    }
  }

  #takeOver(chunkId: number, entries: QueuedEvent[]): void {
    if (this.#loss?.chunkId === chunkId) {
      const { index, reason, tally } = this.#loss;
      const event = tally.toLostEvent(reason, this.#options.timestamp());
      this.#produced += 1;
      entries.splice(index, 0, { event, bytes: jsonBytes(event), produced: this.#produced });
      this.#loss = undefined;
    }
    this.#head.push(...entries);
    this.#headBytes += bytesOf(entries);
  }

  /** What cannot be read is lost. */
  async #read(chunk: Chunk): Promise<QueuedEvent[]> {
    if (chunk.tally.count === 0) return [];
    try {
      const text = await this.#options.spool?.store.read(nameOf(chunk));
      return JSON.parse(text ?? '') as QueuedEvent[];
    } catch (error) {
      this.#failSpool(error);
      this.#lose('spool_failed', chunk.tally, chunk.id, 0);
      return [];
    }
  }

  async #spillChunk(taken: QueuedEvent[]): Promise<void> {
    this.#tailBytes -= bytesOf(taken);
    const chunk: Chunk = { id: this.#nextChunk, tally: new EventTally(), weights: [] };
    this.#nextChunk += 1;
    // In its place before anything is awaited: an event that comes meanwhile queues behind it.
    const older = [...this.#chunks];
    this.#chunks.push(chunk);
    const entries = await this.#makeRoom(older, chunk.id, taken);
    await this.#write(chunk, entries);
  }

  async #write(chunk: Chunk, entries: readonly QueuedEvent[]): Promise<void> {
    this.#spooled -= chunk.tally.bytes;
    chunk.tally = EventTally.of(entries);
    chunk.weights = weightsOf(entries);
    this.#spooled += chunk.tally.bytes;
    try {
      const store = this.#options.spool?.store;
      if (entries.length === 0) await store?.remove(nameOf(chunk));
      else await store?.write(nameOf(chunk), JSON.stringify(entries));
    } catch (error) {
      this.#failSpool(error);
      this.#lose('spool_failed', chunk.tally, chunk.id, 0);
      this.#spooled -= chunk.tally.bytes;
      chunk.tally = new EventTally();
      chunk.weights = [];
    }
    const tellsLoss = this.#loss?.chunkId === chunk.id;
    if (chunk.tally.count === 0 && !tellsLoss) {
      this.#chunks = this.#chunks.filter((other) => other !== chunk);
    }
  }

  /** Drops the least important until `entries` fit. @returns what is left of them */
  async #makeRoom(
    older: readonly Chunk[],
    chunkId: number,
    entries: QueuedEvent[],
  ): Promise<QueuedEvent[]> {
    const fits = (incoming: readonly QueuedEvent[]): boolean =>
      this.#spooled + bytesOf(incoming) <= (this.#spool?.bytes ?? Infinity);
    let left = entries;
    for (let importance = 0; importance < IMPORTANCES; importance += 1) {
      for (const chunk of older) {
        if (fits(left)) return left;
        if ((chunk.weights[importance] ?? 0) === 0) continue;
        const kept = this.#drop(await this.#read(chunk), importance, chunk.id);
        await this.#write(chunk, kept);
      }
      if (fits(left)) return left;
      left = this.#drop(left, importance, chunkId);
    }
    return left;
  }

  /** Without a disk the tail alone is the spool. */
  #thinTail(): void {
    for (let importance = 0; importance < IMPORTANCES; importance += 1) {
      if (this.#tailBytes <= this.#options.memoryBytes) return;
      this.#tail = this.#drop(this.#tail, importance, this.#nextChunk);
      this.#tailBytes = bytesOf(this.#tail);
    }
  }

  /** @returns the entries that are more important */
  #drop(entries: QueuedEvent[], importance: number, chunkId: number): QueuedEvent[] {
    const isDropped = (entry: QueuedEvent) => importanceOf(entry) === importance;
    const first = entries.findIndex(isDropped);
    if (first === -1) return entries;
    // The place of an earlier loss in this chunk moves with what was before it.
    if (this.#loss?.chunkId === chunkId) {
      const before = entries.slice(0, this.#loss.index);
      this.#loss.index = before.filter((entry) => !isDropped(entry)).length;
    }
    this.#lose('spool_full', EventTally.of(entries.filter(isDropped)), chunkId, first);
    return entries.filter((entry) => !isDropped(entry));
  }

  #lose(reason: LossReason, tally: EventTally, chunkId: number, index: number): void {
    this.#lostEvents += tally.count;
    this.#loss ??= { reason, tally: new EventTally(), chunkId, index };
    this.#loss.tally.addAll(tally);
    const { chunkId: atChunk, index: atIndex } = this.#loss;
    if (chunkId < atChunk || (chunkId === atChunk && index < atIndex)) {
      this.#loss.chunkId = chunkId;
      this.#loss.index = index;
    }
  }

  #failSpool(error: unknown): void {
    if (this.#spool) this.#options.onSpoolFailure(error);
    this.#spool = undefined;
  }

  /** Disk and tail are changed by one at a time. */
  #exclusively<T>(action: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(action);
    this.#busy = done.catch(() => {});
    return done;
  }
}

function nameOf(chunk: Chunk): string {
  return `${String(chunk.id).padStart(8, '0')}.json`;
}
