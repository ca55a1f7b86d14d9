import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/**
 * npm's own record of what it put into node_modules. It is written last, so a tree without it was
 * never finished.
 */
const RECORD = 'node_modules/.package-lock.json';

/** Link to the Node that the project brings with it; npm scripts find it first. */
export const BUNDLED_NODE = 'node_modules/.bin/node';

/**
 * Why the packages below `root` must be installed, or undefined when they match the lock file.
 * Packages for other platforms may be absent, and packages that the lock does not name are ignored.
 *
 * @param {string} root absolute path of the project
 * @returns {string | undefined}
 */
export function reasonToInstall(root) {
  if (!existsSync(join(root, 'node_modules'))) return 'node_modules is missing';
  const record = readRecord(root);
  if (record === undefined) return 'the last installation did not finish';
  const wanted = readLock(root);
  for (const [path, entry] of Object.entries(wanted)) {
    const installed = record[path];
    if (installed === undefined) {
      if (entry.optional && !isNodeForThisPlatform(entry)) continue;
      return `${nameOf(path)} ${entry.version} is missing`;
    }
    if (installed.version !== entry.version || installed.integrity !== entry.integrity) {
      return `${nameOf(path)} is ${installed.version}, the lock file says ${entry.version}`;
    }
    if (!existsSync(join(root, path, 'package.json'))) return `${nameOf(path)} was removed`;
  }
  return undefined;
}

/** The package of the lock file with the Node for this platform: its name, or undefined. */
export function nodePackage(root) {
  const found = Object.entries(readLock(root)).find(([, entry]) => isNodeForThisPlatform(entry));
  return found && nameOf(found[0]);
}

/** An installation that stops half way must not look finished to the next run. */
export function forgetInstallation(root) {
  rmSync(join(root, RECORD), { force: true });
}

/** @returns {Record<string, { version: string, integrity?: string, optional?: boolean }>} */
function readLock(root) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  return Object.fromEntries(Object.entries(packages).filter(([path]) => path !== ''));
}

function readRecord(root) {
  try {
    return JSON.parse(readFileSync(join(root, RECORD), 'utf8')).packages;
  } catch {
    return undefined; // absent, or half written: either way the tree is not to be trusted
  }
}

function isNodeForThisPlatform({ bin, os, cpu }) {
  const holds = (list, value) => [list ?? []].flat().includes(value);
  return bin?.node !== undefined && holds(os, process.platform) && holds(cpu, process.arch);
}

const nameOf = (path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
