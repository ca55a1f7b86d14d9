/**
 * A stack of one service, to be killed: `node stack-process.ts <folder> [refuse]`. Prints its endpoint; appends
 * each event it takes to `<folder>/events.jsonl`, or takes none.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { openEcs } from '#local/aws/ecs/index.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';

const [, , dir = '', mode] = process.argv;

const endpoint = await startAwsEndpoint({
  services: [
    openEcs({
      state: openStateDatabase(join(dir, 'state.sqlite')),
      region: 'us-east-1',
      accountId: '000000000000',
      images: (image) => {
        const [kind, script = ''] = image.split(/:(.*)/s);
        const program = kind === 'sh' ? ['/bin/sh', '-c'] : [process.execPath, '-e'];
        return { command: [...program, script], cwd: dir };
      },
      baseEnv: {},
      logDir: join(dir, 'logs'),
      stopTimeoutMs: 5_000,
      emit(event) {
        if (mode === 'refuse') throw new Error('no one is listening');
        appendFileSync(join(dir, 'events.jsonl'), `${JSON.stringify(event)}\n`);
      },
    }),
  ],
});
console.log(endpoint.url);
