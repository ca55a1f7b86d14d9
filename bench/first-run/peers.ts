import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Server, startServer } from './servers.ts';

/** Peers are installed here, from the registry, at their first use: they are no dependencies of the project. */
const INSTALLED = resolve(import.meta.dirname, '../../.nexusdesk/bench-peers');
export const PEERS = ['dbos', 'pg-boss', 'langgraph', 'sandbox-agent'] as const;
export type PeerName = (typeof PEERS)[number];

/** The folder of an installed peer, with our program for it beside its packages. */
export function installPeer(name: PeerName): string {
  const folder = join(INSTALLED, name);
  mkdirSync(folder, { recursive: true });
  cpSync(join(import.meta.dirname, 'peers', name), folder, { recursive: true });
  if (!existsSync(join(folder, 'node_modules'))) {
    process.stderr.write(`installing ${name}\n`);
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  return folder;
}

const POSTGRES_PROGRAMS = '/usr/lib/postgresql/15/bin';

/** A fresh PostgreSQL 15 that flushes before it answers (its default), as user postgres. */
export async function startPostgres(
  port: number,
): Promise<{ url: string; stop: () => Promise<void> }> {
  if (!existsSync(POSTGRES_PROGRAMS)) {
    execFileSync('apt-get', ['install', '-qy', '--no-install-recommends', 'postgresql-15'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }
  // Its user may not enter a home, and it refuses to be root.
  const data = `/tmp/nexusdesk-bench-postgres-${port}`;
  rmSync(data, { recursive: true, force: true });
  mkdirSync(data);
  execFileSync('chown', ['postgres:postgres', data]);
  const asPostgres = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  execFileSync(
    'setpriv',
    [...asPostgres, join(POSTGRES_PROGRAMS, 'initdb'), '-D', data, '-A', 'trust', '-U', 'bench'],
    { stdio: 'ignore', cwd: '/' },
  );
  const server = await startPlain(
    [
      'setpriv',
      ...asPostgres,
      join(POSTGRES_PROGRAMS, 'postgres'),
      ...['-D', data, '-p', String(port), '-k', data, '-c', 'listen_addresses=127.0.0.1'],
    ],
    () =>
      execFileSync(join(POSTGRES_PROGRAMS, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)], {
        stdio: 'ignore',
      }),
  );
  return {
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.kill();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

async function startPlain(
  command: [string, ...string[]],
  probe: () => unknown,
): Promise<Pick<Server, 'kill'>> {
  const [program, ...args] = command;
  const child = spawn(program, args, { cwd: '/', stdio: 'ignore', detached: true });
  const kill = () => {
    const exited = new Promise<void>((done) => child.once('exit', () => done()));
    process.kill(-Number(child.pid), 'SIGKILL');
    return exited;
  };
  for (let attempt = 0; ; attempt += 1) {
    try {
      probe();
      return { kill };
    } catch (error) {
      if (attempt > 200) throw error;
      await delay(50);
    }
  }
}

/** A server of ours in front of a peer's library: `POST /runs` on the port. */
export function startFacade(
  name: 'dbos' | 'pg-boss',
  port: number,
  pgUrl: string,
): Promise<Server> {
  const folder = installPeer(name);
  return startServer({
    command: [process.execPath, 'server.mjs'],
    cwd: folder,
    env: { PORT: String(port), PG_URL: pgUrl },
    logFile: join(folder, 'server.log'),
    readyUrl: `http://127.0.0.1:${port}/ok`,
  });
}
