import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readStream, send } from './http.ts';
import { counter, type StreamedRun } from './langgraph.ts';
import { residentKib, type Server, startServer } from './servers.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
const PORT = 24_900;
const BASE = `http://127.0.0.1:${PORT}`;

/** The platform as `npm start` runs it, in a process of its own. */
export class NexusDesk {
  readonly #server: Server;
  readonly #headers: Readonly<Record<string, string>>;

  static async start(dataDir: string, options: { onlyAccept?: boolean } = {}): Promise<NexusDesk> {
    const server = await startServer({
      command: [
        process.execPath,
        'local/main.ts',
        ...['--no-demo', '--data', dataDir, '--port', String(PORT)],
      ],
      cwd: PROJECT,
      env: options.onlyAccept ? { NEXUSDESK_TENANT_RUNS: '1' } : {},
      logFile: `${dataDir}.log`,
      readyUrl: `${BASE}/v1/health`,
    });
    const { token } = JSON.parse(readFileSync(join(dataDir, 'connection.json'), 'utf8')) as {
      token: string;
    };
    const desk = new NexusDesk(server, token);
    // The tenant may run one at a time, and this is it: what is accepted beside it waits.
    if (options.onlyAccept) await desk.#occupyTheSlot();
    return desk;
  }

  private constructor(server: Server, token: string) {
    this.#server = server;
    this.#headers = { authorization: `Bearer ${token}` };
  }

  accept(script: readonly object[] = [{ complete: 'done' }]): Promise<string> {
    return this.#create(script);
  }

  async knows(run: string): Promise<boolean> {
    return send({ url: `${BASE}/v1/runs/${run}`, headers: this.#headers }).then(
      () => true,
      () => false,
    );
  }

  /** A run of one message in so many pieces, followed live. */
  async streamRun(events: number): Promise<StreamedRun & { run: string }> {
    const run = await this.#create([
      { say: 'word and another word '.repeat(Math.ceil(events / 1.1)), deltas: events },
    ]);
    return { ...(await this.replay(run)), run };
  }

  /** Reads a run from its beginning to its end. */
  async replay(run: string): Promise<StreamedRun> {
    const seen = counter();
    await this.#follow(run, (frame) => {
      if (frame.event === 'message.delta') seen.add(frame.atMs);
      return undefined;
    });
    return seen.result();
  }

  /** To the first event of the run's host, which starts for it, and to the first of its engine, started by the host. */
  async createToFirstEvents(): Promise<{ hostMs: number; engineMs: number }> {
    const startedAt = performance.now();
    const run = await this.#create([{ say: 'hello', deltas: 1 }]);
    let hostMs: number | undefined;
    let engineMs: number | undefined;
    await this.#follow(run, (frame) => {
      if (frame.event === 'run.started') hostMs ??= frame.atMs - startedAt;
      if (frame.event === 'message.delta') engineMs ??= frame.atMs - startedAt;
      return undefined;
    });
    if (hostMs === undefined || engineMs === undefined) throw new Error('the run had no events');
    return { hostMs, engineMs };
  }

  residentKib(): number {
    return residentKib(this.#server.pid);
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }

  async #create(script: readonly object[]): Promise<string> {
    const created = await send({
      url: `${BASE}/v1/runs`,
      headers: { ...this.#headers, 'idempotency-key': randomUUID() },
      body: {
        engine: { id: 'local_test', protocol: 'native' },
        input: { prompt: 'p'.repeat(600) },
        config: { script },
      },
    });
    return (created as { executionId: string }).executionId;
  }

  async #follow(run: string, onFrame: Parameters<typeof readStream>[1]): Promise<void> {
    await readStream({ url: `${BASE}/v1/runs/${run}/stream`, headers: this.#headers }, onFrame);
  }

  async #occupyTheSlot(): Promise<void> {
    const run = await this.#create([{ wait: 'forever' }]);
    await this.#follow(run, (frame) => (frame.event === 'run.started' ? 'stop' : undefined));
  }
}
