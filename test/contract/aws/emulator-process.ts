import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Emulators in a process of their own, so that it can be killed. */
export interface EmulatorProcess {
  readonly url: string;
  /** SIGKILL: nothing in the process gets to clean up. */
  kill(): Promise<void>;
}

/** Runs a program beside this file that prints the URL it serves as its first line. */
export async function startEmulators(
  program: string,
  ...args: readonly string[]
): Promise<EmulatorProcess> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${program} ended with ${code}`)));
    lines.once('line', resolve);
  });
  return {
    url,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}
