/** Makes a held process and tells its identity, but never lets it go: `node hold-process.ts <folder>`. */
import { join } from 'node:path';
import { holdProcess } from '#local/aws/ecs/held-process.ts';

const dir = process.argv[2] ?? '';
const held = await holdProcess({
  command: ['/bin/sh', '-c', 'echo ran; exit 5'],
  cwd: dir,
  env: {},
  stdoutFile: join(dir, 'stdout'),
  stderrFile: join(dir, 'stderr'),
  exitFile: join(dir, 'exit'),
});
console.log(JSON.stringify(held.process));
setInterval(() => {}, 1e6);
