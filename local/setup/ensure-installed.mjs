/**
 * Runs before `npm start`, `npm test` and `npm run check`: installs the packages of the lock file
 * when they are not there, and makes sure that a Node which can run the project is.
 *
 * Plain JavaScript without packages: it runs when nothing is installed, on the Node of the system.
 * Says nothing when nothing is to be done; otherwise one line on stderr.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withInstallLock } from './install-lock.mjs';
import {
  BUNDLED_NODE,
  forgetInstallation,
  nodePackage,
  reasonToInstall,
} from './installed-tree.mjs';
import { npmInstall, SetupError } from './npm-install.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LOCK = join(ROOT, '.nexusdesk/install.lock');
/** What this script needs itself. */
const SETUP_NODE_MAJOR = 20;
/** What the project needs: it runs TypeScript as it is written. */
const PROJECT_NODE_MAJOR = 24;

const majorOf = (version) => Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0);
const say = (text) => process.stderr.write(text);

async function main() {
  requireSetupNode();
  requireAvailableNode();
  if (reasonToInstall(ROOT) !== undefined) {
    await withInstallLock(LOCK, {
      onWait: (holder) => say(`Waiting for the installation by process ${holder} to end.\n`),
      work: install,
    });
  }
  requireRunningNode();
}

/** Asks again for the reason: another process may just have finished the same installation. */
async function install(holdFor) {
  const reason = reasonToInstall(ROOT);
  if (reason === undefined) return;
  say(`Installing packages, because ${reason} ... `);
  const startedAt = performance.now();
  try {
    forgetInstallation(ROOT);
    await npmInstall(ROOT, holdFor);
    const left = reasonToInstall(ROOT);
    if (left !== undefined) throw new SetupError(`npm ci ended well, but ${left}.`);
  } catch (error) {
    say('failed\n');
    throw error;
  }
  say(`done in ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`);
}

function requireSetupNode() {
  if (majorOf(process.version) >= SETUP_NODE_MAJOR) return;
  throw new SetupError(
    `Node.js ${SETUP_NODE_MAJOR} or newer is needed to install the project; this is ${process.version}.`,
  );
}

/** Before anything is installed: on a platform without a packaged Node the system must have it. */
function requireAvailableNode() {
  if (majorOf(process.version) < PROJECT_NODE_MAJOR && nodePackage(ROOT) === undefined) {
    throw noNode(`no package has it for ${process.platform}-${process.arch}`);
  }
}

/**
 * npm puts the bundled Node before the system's on PATH. One that cannot run here (built against
 * glibc, found on musl) would make every command fail with "not found", so its link is removed.
 */
function requireRunningNode() {
  if (majorOf(process.version) >= PROJECT_NODE_MAJOR && !existsSync(join(ROOT, BUNDLED_NODE)))
    return;
  const bundled = spawnSync(join(ROOT, BUNDLED_NODE), ['--version'], { encoding: 'utf8' });
  if (bundled.status === 0 && majorOf(bundled.stdout) >= PROJECT_NODE_MAJOR) return;
  rmSync(join(ROOT, BUNDLED_NODE), { force: true });
  if (majorOf(process.version) >= PROJECT_NODE_MAJOR) return;
  throw noNode(
    `the packaged one does not run here (${bundled.error?.code ?? bundled.stderr.trim()})`,
  );
}

function noNode(cause) {
  return new SetupError(
    `The project needs Node.js ${PROJECT_NODE_MAJOR}, and ${cause}; ` +
      `this is ${process.version}. Install Node.js ${PROJECT_NODE_MAJOR} and run the command again.`,
  );
}

try {
  await main();
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(`${error.message}\n`);
  process.exitCode = 1;
}
