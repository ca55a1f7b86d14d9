import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Scripts of packages are not run: nothing here needs them, and they are other people's programs.
 * Kinds are named because a configuration may leave them out (NODE_ENV=production leaves out dev).
 */
const ARGUMENTS = [
  'ci',
  '--ignore-scripts',
  '--include=dev',
  '--include=optional',
  '--prefer-offline',
  '--loglevel=error',
];

const UNREACHABLE =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|ERR_SOCKET_TIMEOUT)\b/;
/** Characters kept of each end of what npm says: the cause comes first, or it comes last. */
const END_KEPT = 2_000;

/** Says what went wrong and what to do; shown without a stack. */
export class SetupError extends Error {}

/**
 * `npm ci` for the project at `root`. Resolves when the tree is complete.
 *
 * @param {string} root absolute path of the project
 * @param {(pid: number) => void} onStart is told npm's process id
 * @throws {SetupError} npm is not on PATH, the registry cannot be reached, or npm failed
 */
export async function npmInstall(root, onStart) {
  const { failure, code, signal, output } = await runNpm(root, onStart);
  if (failure?.code === 'ENOENT') {
    throw new SetupError('npm is not on PATH. It comes with Node.js: install Node.js 20 or newer.');
  }
  if (failure) throw new SetupError(`npm could not be started: ${failure.message}`);
  if (code === 0) return;
  const ending = signal ? `was ended by ${signal}` : `failed with code ${code}`;
  const remedy = UNREACHABLE.test(output)
    ? '\nThe package registry cannot be reached. Connect once and run the same command again; later runs need no network.'
    : '';
  throw new SetupError(`npm ci ${ending}:\n${output.trimEnd()}${remedy}`);
}

function runNpm(root, onStart) {
  return new Promise((settle) => {
    let start = '';
    let end = '';
    const keep = (chunk) => {
      const room = END_KEPT - start.length;
      start += chunk.slice(0, room);
      const rest = end + chunk.slice(room);
      end = rest.length > END_KEPT ? `\n...${rest.slice(-END_KEPT)}` : rest;
    };
    const npm = spawn('npm', ARGUMENTS, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      // On Windows npm is a batch file, which only a shell can start.
      shell: process.platform === 'win32',
    });
    if (npm.pid !== undefined) onStart(npm.pid);
    npm.stdout.setEncoding('utf8').on('data', keep);
    npm.stderr.setEncoding('utf8').on('data', keep);

    let stoppedBy;
    const stop = (signal) => {
      stoppedBy = signal;
      npm.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const name of signals) process.on(name, stop);
    const finish = (result) => {
      for (const name of signals) process.removeListener(name, stop);
      if (stoppedBy) process.exit(128 + constants.signals[stoppedBy]);
      settle({ output: start + end, ...result });
    };
    npm.once('error', (failure) => finish({ failure }));
    npm.once('close', (code, signal) => finish({ code, signal }));
  });
}
