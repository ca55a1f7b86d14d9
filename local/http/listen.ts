import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where a server of the local stack listens. */
export interface Listening {
  /** For example `http://127.0.0.1:45123`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, cuts open connections, and resolves when all are closed. */
  close(): Promise<void>;
}

/**
 * Listens on the loopback interface unless told otherwise; port 0 or none is any free one.
 *
 * @throws the system's error, for example `EADDRINUSE`
 */
export async function listen(
  server: Server,
  { port = 0, host = '127.0.0.1' }: { port?: number | undefined; host?: string | undefined },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://${host}:${address.port}`,
    port: address.port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}
