import type { Commit } from './commit.ts';
import type { Dynalite } from './dynalite.ts';
import type { Expiry } from './expiry.ts';
import type { Storage } from './storage.ts';
import type { Streams } from './streams.ts';

/** What the operations share. */
export interface DynamoContext {
  readonly dynalite: Dynalite;
  readonly storage: Storage;
  readonly streams: Streams;
  readonly expiry: Expiry;
  readonly commit: Commit;
  readonly region: string;
  readonly accountId: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** A UUID. */
  readonly newId: () => string;
}

/** A request body; each operation checks what it uses. */
// biome-ignore lint/suspicious/noExplicitAny: the wire shape belongs to each operation, which checks it
export type Input = Record<string, any>;

export type Operations = Readonly<Record<string, (input: Input) => unknown>>;
