import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, it } from 'vitest';

/** A running moto server: an implementation of the AWS APIs that shares no code with ours. */
export interface Moto {
  /** To be given to an SDK client as `endpoint`. */
  readonly url: string;
  /** Forgets everything. moto copies whole tables for each transaction, so keep what it holds small. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

const SERVER = fileURLToPath(new URL('./serial_moto.py', import.meta.url));
const NEEDED = 'import moto, flask, werkzeug';
const HOW_TO = "python3 -c 'import moto' fails; install it with: pip install 'moto[server]==5.2.1'";

/** Whether `python3` can run moto's server here. */
export function motoIsInstalled(): boolean {
  return spawnSync('python3', ['-c', NEEDED], { stdio: 'ignore' }).status === 0;
}

/** Starts moto on a free port; rejects with its stderr when it ends before it listens. */
export async function startMoto(): Promise<Moto> {
  const child = spawn('python3', [SERVER], { stdio: ['pipe', 'pipe', 'pipe'] });
  const url = `http://127.0.0.1:${await announcedPort(child)}`;
  return {
    url,
    async reset() {
      const answer = await fetch(`${url}/moto-api/reset`, { method: 'POST' });
      if (!answer.ok) throw new Error(`moto did not reset: ${answer.status}`);
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.stdin?.end();
      await exited;
    },
  };
}

async function announcedPort(child: ChildProcess): Promise<number> {
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4000);
  });
  if (!child.stdout) throw new Error('moto was started without a pipe');
  const lines = createInterface({ input: child.stdout });
  return await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`moto ended with ${code}: ${complaint}`)));
    lines.once('line', (line) => resolve(Number(line)));
  });
}

/**
 * Runs a contract suite on moto. Without moto the suite is skipped with a message that says so, except in CI
 * (`CI` set), where it fails: a reference that quietly stops being asked is no reference.
 *
 * @example
 * describeWithMoto((moto) => describeSqs({ name: 'sqs on moto', endpoint: () => moto().url, ... }));
 */
export function describeWithMoto(define: (moto: () => Moto) => void): void {
  if (!motoIsInstalled()) {
    if (process.env.CI) {
      it('has moto, the independent reference', () => {
        throw new Error(HOW_TO);
      });
      return;
    }
    describe.skip(`SKIPPED, no independent reference: ${HOW_TO}`, () => define(notStarted));
    return;
  }
  describe('moto', () => {
    let running: Moto | undefined;
    beforeAll(async () => {
      running = await startMoto();
    }, 60_000);
    afterAll(async () => {
      await running?.stop();
    }, 60_000);
    define(() => running ?? notStarted());
  });
}

function notStarted(): never {
  throw new Error('moto is started before the first test, not while tests are defined');
}
