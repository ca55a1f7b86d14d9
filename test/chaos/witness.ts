import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Marks } from './run-plan.ts';

/** One engine, from its first step until the last of its processes that held the connection was gone. */
export interface EngineLife {
  readonly runId: string;
  readonly attempt: number;
  readonly beganAt: number;
  endedAt: number | undefined;
  /** Its script came to its end. */
  reachedEnd: boolean;
}

/** Two engines of one run that lived at one time. */
export interface Overlap {
  readonly runId: string;
  readonly attempts: readonly number[];
}

/**
 * Sees engines from outside the platform. Every script connects here with its first step, and the connection lasts as
 * long as a process of that attempt lives: the kernel closes it, whatever becomes of host and stack. So nothing has to
 * be sampled, and no clock compared.
 */
export class Witness {
  readonly lives: EngineLife[] = [];
  readonly overlaps: Overlap[] = [];
  readonly #server: Server;
  readonly #open = new Map<Socket, EngineLife>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => this.#onConnection(socket));
  }

  static async open(): Promise<Witness> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Witness(server);
  }

  /** The working directory says which attempt of which run it is. */
  get marks(): Marks {
    const { port } = this.#server.address() as AddressInfo;
    const connect = `exec 3<>/dev/tcp/127.0.0.1/${port}`;
    const tell = (word: string) => `${connect}; echo "${word} \${PWD%/work}" >&3; read -r ok <&3`;
    return {
      begin: `bash -c '${tell('begin')}; (exec cat <&3 >/dev/null 2>&1) &'`,
      end: `bash -c '${tell('end')}'`,
    };
  }

  livesOf(runId: string): EngineLife[] {
    return this.lives.filter((life) => life.runId === runId);
  }

  /** Engines that live now. */
  alive(): EngineLife[] {
    return [...this.#open.values()];
  }

  async close(): Promise<void> {
    for (const socket of this.#open.keys()) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onConnection(socket: Socket): void {
    let text = '';
    const onGone = () => {
      const life = this.#open.get(socket);
      if (life) life.endedAt = Date.now();
      this.#open.delete(socket);
    };
    socket.on('error', onGone).on('end', onGone).on('close', onGone);
    socket.on('data', (chunk) => {
      text += chunk.toString('utf8');
      const told = /^(begin|end) .*\/(run_[0-9A-Z]+)(?:\.([0-9]+))?\n/.exec(text);
      if (!told?.[2]) return;
      text = '';
      const [, word, runId] = told;
      const attempt = Number(told[3] ?? 1);
      if (word === 'begin') void this.#begin(socket, runId, attempt);
      else this.#reachedEnd(runId, attempt);
      socket.write('ok\n');
    });
  }

  async #begin(socket: Socket, runId: string, attempt: number): Promise<void> {
    const life: EngineLife = {
      runId,
      attempt,
      beganAt: Date.now(),
      endedAt: undefined,
      reachedEnd: false,
    };
    this.lives.push(life);
    this.#open.set(socket, life);
    // What closed before this one came is heard of in the same turn of the loop.
    await turn();
    const others = this.alive().filter((other) => other.runId === runId && other !== life);
    if (others.length === 0) return;
    this.overlaps.push({ runId, attempts: [attempt, ...others.map((other) => other.attempt)] });
  }

  #reachedEnd(runId: string, attempt: number): void {
    const life = this.lives.findLast((each) => each.runId === runId && each.attempt === attempt);
    if (life) life.reachedEnd = true;
  }
}
