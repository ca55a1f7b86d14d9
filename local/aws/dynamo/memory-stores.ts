import { memoryStorage } from './memory-storage.ts';
import type { ExpiryStore, Stores, Stream, StreamStore, TokenStore } from './storage.ts';

/** Everything in memory, as it is in SQLite, but gone with the process. */
export function memoryStores(): Stores {
  return {
    storage: memoryStorage(),
    streams: memoryStreams(),
    expiry: memoryExpiry(),
    tokens: memoryTokens(),
  };
}

interface MemoryRecord {
  readonly sequence: number;
  readonly record: object;
}

function memoryStreams(): StreamStore {
  const streams = new Map<string, Stream>();
  const records = new Map<string, MemoryRecord[]>();
  let lastUsed = 0;
  const recordsOf = (arn: string) => records.get(arn) ?? [];
  /** Records are in the order of their sequences. */
  const firstAfter = (list: readonly MemoryRecord[], sequence: number) => {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((list[middle]?.sequence ?? 0) > sequence) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return {
    load: () => ({ streams: [...streams.values()], lastUsed }),
    put: (stream) => void streams.set(stream.arn, stream),
    forget(arn) {
      records.delete(arn);
      streams.delete(arn);
    },
    append(arn, sequence, record) {
      lastUsed = sequence;
      const list = records.get(arn);
      if (list) list.push({ sequence, record });
      else records.set(arn, [{ sequence, record }]);
    },
    *after(arn, start, limit) {
      const list = recordsOf(arn);
      const from = firstAfter(list, start);
      for (const { sequence, record } of list.slice(from, from + limit)) {
        yield {
          sequence,
          record,
          get bytes() {
            return JSON.stringify(record).length;
          },
        };
      }
    },
    nthNewest: (arn, n) => recordsOf(arn).at(-1 - n)?.sequence,
    trim(arn, sequence) {
      const list = recordsOf(arn);
      list.splice(0, firstAfter(list, sequence));
    },
  };
}

function memoryExpiry(): ExpiryStore {
  const tables = new Map<string, Map<string, number>>();
  return {
    put(table, key, expiresAt) {
      const keys = tables.get(table) ?? new Map<string, number>();
      tables.set(table, keys.set(key, expiresAt));
    },
    remove: (table, key) => void tables.get(table)?.delete(key),
    forget: (table) => void tables.delete(table),
    expiring: (table, from, until, limit) =>
      [...(tables.get(table) ?? [])]
        .filter(([, at]) => at > from && at < until)
        .sort(([, left], [, right]) => left - right)
        .slice(0, limit)
        .map(([key]) => key),
  };
}

function memoryTokens(): TokenStore {
  const tokens = new Map<string, { readonly digest: string; readonly committedAt: number }>();
  return {
    find(token, since) {
      const known = tokens.get(token);
      return known && known.committedAt > since ? known.digest : undefined;
    },
    put: (token, digest, committedAt) => void tokens.set(token, { digest, committedAt }),
    forgetUntil(committedAt) {
      for (const [token, known] of tokens) {
        if (known.committedAt <= committedAt) tokens.delete(token);
      }
    },
  };
}
