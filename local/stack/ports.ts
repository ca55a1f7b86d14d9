import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Where ports are looked for: below those that systems lend to outgoing connections (Linux from 32768, macOS from
 * 49152). A stack keeps its ports, and must get them again after it was killed.
 */
const RANGE = { first: 20_000, last: 31_999 };
const MAX_TRIES = 100;

/** A free loopback port, the preferred one if it is. It may be taken before it is used: the caller is told then. */
export async function freePort(preferred?: number): Promise<number> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const port = tries === 0 && preferred ? preferred : anyPort();
    if (await isFree(port)) return port;
  }
  throw new Error(`found no free port between ${RANGE.first} and ${RANGE.last}`);
}

const anyPort = () => RANGE.first + Math.floor(Math.random() * (RANGE.last - RANGE.first + 1));

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(port, '127.0.0.1');
  try {
    await listening;
  } catch {
    return false;
  }
  const { port: bound } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return bound === port;
}
