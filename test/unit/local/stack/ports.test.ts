import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePort } from '#local/stack/ports.ts';

it('gives no port that systems lend to outgoing connections: it must be there again after a restart', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(ports.every((port) => port >= 20_000 && port < 32_768)).toBe(true);
});

it('takes the preferred port when it is free, and another one when it is not', async () => {
  const preferred = await freePort();
  expect(await freePort(preferred)).toBe(preferred);
  const holder = createServer().listen(preferred, '127.0.0.1');
  await once(holder, 'listening');
  expect(await freePort(preferred)).not.toBe(preferred);
  holder.close();
  await once(holder, 'close');
});
