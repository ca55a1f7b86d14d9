import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readStream, send } from './http.ts';
import { installPeer } from './peers.ts';
import { type Server, startServer } from './servers.ts';

const PORT = 24_840;
const BASE = `http://127.0.0.1:${PORT}/v1/acp`;

/** sandbox-agent with an agent in Node: one HTTP session is one agent process. Its sessions end with the server. */
export class SandboxAgent {
  readonly #server: Server;

  static async start(): Promise<SandboxAgent> {
    const folder = installPeer('sandbox-agent');
    const program = join(folder, 'node_modules/@sandbox-agent/cli-linux-x64/bin/sandbox-agent');
    const home = join(folder, 'home');
    mkdirSync(home, { recursive: true });
    const env = { HOME: home, SANDBOX_AGENT_BIN: program };
    execFileSync(program, ['install-agent', 'mock'], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
    });
    // Its built-in agent only echoes: ours takes its place.
    writeFileSync(
      join(home, '.local/share/sandbox-agent/bin/agent_processes/mock-acp'),
      `#!/bin/sh\nexec ${process.execPath} ${join(folder, 'agent.mjs')}\n`,
      { mode: 0o755 },
    );
    const server = await startServer({
      command: [program, 'server', '-n', '--no-telemetry', '-H', '127.0.0.1', '-p', String(PORT)],
      cwd: folder,
      env,
      logFile: join(folder, 'server.log'),
      readyUrl: `http://127.0.0.1:${PORT}/v1/health`,
    });
    return new SandboxAgent(server);
  }

  private constructor(server: Server) {
    this.#server = server;
  }

  /** From the first request of a session (which starts the agent's process) to the agent's first event, in ms. */
  async createToFirstEvent(): Promise<number> {
    const session = randomUUID();
    const startedAt = performance.now();
    await this.#call(session, 'initialize', { protocolVersion: 1, clientCapabilities: {} });
    await this.#call(session, 'session/new', { cwd: '/tmp', mcpServers: [] });
    const first = Promise.withResolvers<number>();
    const reading = readStream({ url: `${BASE}/${session}` }, (frame) => {
      if (!frame.data.includes('session/update')) return undefined;
      first.resolve(frame.atMs);
      return 'stop';
    });
    const prompt = [{ type: 'text', text: 'EMIT 50' }];
    await this.#call(session, 'session/prompt', { sessionId: 'only', prompt });
    await reading;
    return (await first.promise) - startedAt;
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }

  #call(session: string, method: string, params: object): Promise<unknown> {
    const query = method === 'initialize' ? '?agent=mock' : '';
    return send({
      url: `${BASE}/${session}${query}`,
      body: { jsonrpc: '2.0', id: randomUUID(), method, params },
      headers: { accept: 'application/json' },
    });
  }
}
