import type { Storage } from './storage.ts';

interface Waiting {
  readonly run: () => unknown;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Writes that share a transaction of the storage. */
export interface GroupCommit {
  /** Answers, or fails, when what `run` wrote is committed. */
  write(run: () => unknown): Promise<unknown>;
  /** Commits what waits, now. */
  flush(): void;
}

/**
 * Runs the writes that arrive in one turn of the event loop one after the other and commits them together, since a
 * commit costs more than most writes. A write that fails undoes only its own. Nothing but these writes can be in the
 * transaction: it begins and ends without giving way. `reload` is called when a commit itself has failed.
 */
export function openGroupCommit(
  storage: Pick<Storage, 'atomically'>,
  reload: () => void,
): GroupCommit {
  let waiting: Waiting[] = [];

  function flush(): void {
    const group = waiting;
    waiting = [];
    const settled: (() => void)[] = [];
    const runAll = () => {
      for (const write of group) settled.push(attempt(write));
    };
    try {
      // One alone has its own transaction.
      if (group.length > 1) storage.atomically(runAll);
      else runAll();
    } catch (error) {
      reload();
      for (const write of group) write.reject(error);
      return;
    }
    for (const settle of settled) settle();
  }

  return {
    flush,
    write: (run) =>
      new Promise((resolve, reject) => {
        // After all that can be read from sockets in this turn was read.
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ run, resolve, reject });
      }),
  };
}

/** Runs a write; what it came to is told by calling the answer. */
function attempt({ run, resolve, reject }: Waiting): () => void {
  try {
    const answer = run();
    return () => resolve(answer);
  } catch (error) {
    return () => reject(error);
  }
}
