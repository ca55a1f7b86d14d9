import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** An emulator in a process of its own, which can be killed. */
export interface Served {
  readonly url: string;
  /** Sends SIGKILL, unless it is dead already, and waits for its end. */
  kill(): Promise<void>;
  /** Resolves with the signal that ended it. */
  readonly ended: Promise<NodeJS.Signals | null>;
}

const PROGRAM = fileURLToPath(new URL('./serve-dynamo.ts', import.meta.url));

export async function serve(path: string, dieAfterStatements?: number): Promise<Served> {
  const args = dieAfterStatements === undefined ? [] : [String(dieAfterStatements)];
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null);
  if (!child.stdout) throw new Error('the emulator was started without a pipe');
  const lines = createInterface({ input: child.stdout });
  const early = ended.then((signal) => {
    throw new Error(`the emulator ended before it served: ${signal}`);
  });
  const [url] = await Promise.race([once(lines, 'line'), early]);
  early.catch(() => undefined);
  return {
    url: String(url),
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
