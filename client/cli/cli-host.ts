import type { ClientClock } from '../client-clock.ts';

/** Everything of the process that the CLI touches; made in main.ts. */
export interface CliHost {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Absent where files have no owner. */
  readonly userId: number | undefined;
  readonly nodeVersion: string;
  readonly clock: ClientClock;
  readonly fetch: typeof globalThis.fetch;
  /** Calls back on each Ctrl-C, which then no longer ends the process; the returned function takes it back. */
  onInterrupt(listener: () => void): () => void;
}
