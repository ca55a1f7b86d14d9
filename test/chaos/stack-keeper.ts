import { NexusDeskClient } from '#client/nexusdesk-client.ts';
import { type StackProcess, startStackProcess } from '#test/support/stack-process.ts';
import { killProcess } from './processes.ts';

/** One tenant's way to the API. */
export interface Access {
  readonly url: string;
  readonly token: string;
  readonly client: NexusDeskClient;
}

/** Starts the stack again whenever it was killed. Clients go on through every outage: address and tokens stay. */
export class StackKeeper {
  readonly dataDir: string;
  readonly #env: Record<string, string>;
  readonly #accesses = new Map<string, Access>();
  #stack: StackProcess | undefined;
  #pid: number | undefined;
  /** Milliseconds from the start of a stack until it served, one for each start. */
  readonly startsMs: number[] = [];

  constructor(dataDir: string, env: Record<string, string>) {
    this.dataDir = dataDir;
    this.#env = env;
  }

  /** Resolves when it serves. Rejects when it ended before; then it may be called again. */
  async start(): Promise<void> {
    const startedAt = Date.now();
    this.#stack = await startStackProcess(this.dataDir, this.#env, (pid) => {
      this.#pid = pid;
    });
    this.startsMs.push(Date.now() - startedAt);
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#stack?.kill();
  }

  /** Kills the stack on its way up, after `afterMs`; resolves when it is gone (or has come up before and is gone). */
  async startAndKill(afterMs: number): Promise<void> {
    const starting = this.start().then(
      () => undefined,
      () => undefined,
    );
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    if (this.#pid !== undefined) killProcess(this.#pid);
    await starting;
    await this.kill();
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null | undefined> {
    return this.#stack?.stop();
  }

  get stack(): StackProcess {
    if (!this.#stack) throw new Error('the stack was never up');
    return this.#stack;
  }

  /** Call it first while the stack is up, so that the token is there for the outages. */
  async accessFor(tenantId: string): Promise<Access> {
    const known = this.#accesses.get(tenantId);
    if (known) return known;
    const { url } = this.stack;
    const token = await this.stack.tokenFor(tenantId);
    const access = { url, token, client: new NexusDeskClient({ baseUrl: url, token }) };
    this.#accesses.set(tenantId, access);
    return access;
  }
}
