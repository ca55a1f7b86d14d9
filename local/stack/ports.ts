import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** A free loopback port, the preferred one if it is. It may be taken before it is used: the caller is told then. */
export async function freePort(preferred = 0): Promise<number> {
  const server = createServer();
  const listening = once(server, 'listening');
  server.listen(preferred, '127.0.0.1');
  try {
    await listening;
  } catch {
    return freePort();
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
