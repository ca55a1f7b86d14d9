import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { resolve } from 'node:path';

const MAIN = resolve(import.meta.dirname, '../../../client/cli/main.ts');

export interface CliStart {
  readonly args: readonly string[];
  /** The whole environment: nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Written to stdin, which is then closed; left out, stdin stays open and silent. */
  readonly input?: string;
}

export interface CliEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The real executable, as a process of its own. */
export class CliProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<CliEnd>;
  readonly #text = { stdout: '', stderr: '' };
  readonly #watchers = new Set<() => void>();

  constructor({ args, env = {}, cwd, input }: CliStart) {
    this.child = spawn(process.execPath, [MAIN, ...args], { env, cwd, stdio: 'pipe' });
    for (const name of ['stdout', 'stderr'] as const) {
      this.child[name].setEncoding('utf8').on('data', (text: string) => {
        this.#text[name] += text;
        for (const watcher of this.#watchers) watcher();
      });
    }
    if (input !== undefined) this.child.stdin.end(input);
    // A command that does not read its stdin closes it early.
    this.child.stdin.on('error', () => undefined);
    this.ended = new Promise((done) => {
      this.child.once('close', (code, signal) => done({ code, signal, ...this.#text }));
    });
  }

  /** Resolves once the stream holds the text; rejects when the process ends without it. */
  async shows(name: 'stdout' | 'stderr', text: string): Promise<void> {
    const shown = Promise.withResolvers<void>();
    const watcher = () => {
      if (this.#text[name].includes(text)) shown.resolve();
    };
    this.#watchers.add(watcher);
    watcher();
    const ended = this.ended.then((end) => {
      if (!end[name].includes(text)) throw new Error(`ended without it: ${JSON.stringify(end)}`);
    });
    await Promise.race([shown.promise, ended]);
    this.#watchers.delete(watcher);
  }

  interrupt(): void {
    this.child.kill('SIGINT');
  }
}

export function runProcess(start: CliStart): Promise<CliEnd> {
  return new CliProcess({ input: '', ...start }).ended;
}
