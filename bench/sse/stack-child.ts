/** The local stack in a process of its own, which tells over IPC what memory it uses. Needs `--expose-gc`. */
import { resolve } from 'node:path';
import process from 'node:process';
import { startStack } from '#local/stack/stack.ts';

const [dataDir = ''] = process.argv.slice(2);
const stack = await startStack({
  projectRoot: resolve(import.meta.dirname, '../..'),
  dataDir,
  env: process.env,
});

process.on('message', (message) => {
  if (message === 'memory') {
    // Twice: what the first round frees may hold what only the second can.
    for (let round = 0; round < 2; round += 1) (globalThis as { gc?: () => void }).gc?.();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send?.({ rss, inUse: heapUsed + external });
  } else if (message === 'stop') {
    void stack.close().then(() => process.disconnect());
  }
});
process.send?.({ url: stack.url, token: stack.token });
