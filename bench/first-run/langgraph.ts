import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readStream, send } from './http.ts';
import { installPeer } from './peers.ts';
import { residentKib, type Server, startServer } from './servers.ts';

const PORT = 24_700;
const BASE = `http://127.0.0.1:${PORT}`;

export interface StreamedRun {
  readonly events: number;
  /** From the first event to the last, at the client. */
  readonly eventsPerSecond: number;
}

/** LangGraph's server for development: everything in memory, written to a file 3 s after the last change. */
export class LangGraph {
  readonly #server: Server;

  static async start(options: { keepData?: boolean } = {}): Promise<LangGraph> {
    const folder = installPeer('langgraph');
    if (!options.keepData) {
      rmSync(join(folder, '.langgraph_api'), { recursive: true, force: true });
    }
    const program = join(folder, 'node_modules/.bin/langgraphjs');
    const server = await startServer({
      command: [
        process.execPath,
        program,
        'dev',
        ...['--no-browser', '--no-reload', '--port', String(PORT), '--host', '127.0.0.1'],
      ],
      cwd: folder,
      env: { LOG_LEVEL: 'error', LANGSMITH_TRACING: 'false' },
      logFile: join(folder, 'server.log'),
      readyUrl: `${BASE}/ok`,
    });
    return new LangGraph(server);
  }

  private constructor(server: Server) {
    this.#server = server;
  }

  /** A run that is stored and waits: nothing executes beside the accepts. */
  async accept(): Promise<string> {
    const thread = randomUUID();
    const run = await send({
      url: `${BASE}/threads/${thread}/runs`,
      body: { ...runBody(50), after_seconds: 3600 },
    });
    return `${thread}/runs/${(run as { run_id: string }).run_id}`;
  }

  async knows(run: string): Promise<boolean> {
    return send({ url: `${BASE}/threads/${run}` }).then(
      () => true,
      () => false,
    );
  }

  async streamRun(events: number): Promise<StreamedRun & { run: string }> {
    const thread = randomUUID();
    let runId = '';
    const seen = counter();
    await readStream(
      { url: `${BASE}/threads/${thread}/runs/stream`, body: runBody(events) },
      (frame) => {
        if (frame.event === 'metadata') {
          runId = (JSON.parse(frame.data) as { run_id: string }).run_id;
        } else seen.add(frame.atMs);
        return undefined;
      },
    );
    return { ...seen.result(), run: `${thread}/runs/${runId}` };
  }

  async replay(run: string): Promise<StreamedRun> {
    const seen = counter();
    const call = { url: `${BASE}/threads/${run}/stream`, headers: { 'last-event-id': '-1' } };
    await readStream(call, (frame) => {
      if (frame.event !== 'metadata') seen.add(frame.atMs);
      return undefined;
    });
    return seen.result();
  }

  residentKib(): number {
    return residentKib(this.#server.pid);
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }
}

function runBody(n: number): object {
  return {
    assistant_id: 'chunks',
    input: { n },
    stream_mode: ['custom'],
    if_not_exists: 'create',
    stream_resumable: true,
  };
}

/** Counts events and the time from the first to the last. */
export function counter(): { add(atMs: number): void; result(): StreamedRun } {
  let events = 0;
  let firstMs = 0;
  let lastMs = 0;
  return {
    add(atMs) {
      if (events === 0) firstMs = atMs;
      lastMs = atMs;
      events += 1;
    },
    result: () => ({
      events,
      eventsPerSecond: events / Math.max(0.001, (lastMs - firstMs) / 1000),
    }),
  };
}
