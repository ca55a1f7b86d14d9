import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { withInstallLock } from '#local/setup/install-lock.mjs';
import { forgetInstallation, reasonToInstall } from '#local/setup/installed-tree.mjs';
import { npmInstall, SetupError } from '#local/setup/npm-install.mjs';
import { folderBytes } from './folder-bytes.ts';

export interface InstallOptions {
  /** The folder `containers/`, absolute. */
  readonly root: string;
  /** One line of text, without a newline. Nothing is said when nothing is to be done. */
  readonly onProgress: (line: string) => void;
  /** Where the lock lies; default `.nexusdesk` beside `root`. */
  readonly lockFolder?: string;
  readonly platform?: NodeJS.Platform;
  readonly arch?: string;
}

const PROGRESS_EVERY_MS = 3_000;

/**
 * Installs the program of an engine from `containers/<folder>`, in the version of its lock file, unless it is
 * there. Safe to call from several processes, and again after an installation that was interrupted.
 *
 * @returns whether anything was installed
 * @throws SetupError when there is no such engine, npm is missing, or its registry cannot be reached
 */
export async function installEngine(folder: string, options: InstallOptions): Promise<boolean> {
  const home = engineFolder(folder, options.root);
  const why = () => reasonToInstall(home) ?? missingPlatformPackage(home, options);
  if (why() === undefined) return false;
  const lock = join(
    options.lockFolder ?? resolve(options.root, '..', '.nexusdesk'),
    `install-${folder}.lock`,
  );
  return withInstallLock(lock, {
    onWait: (holder) =>
      options.onProgress(`${folder}: process ${holder} is installing it; waiting`),
    // Asked again: the process that held the lock may have done the work.
    work: async (holdFor) => {
      const reason = why();
      if (reason === undefined) return false;
      options.onProgress(`${folder}: installing, because ${reason}`);
      await install(folder, home, options.onProgress, holdFor);
      const left = why();
      if (left === undefined) return true;
      // npm takes a package for one platform as optional: that it could not be fetched is no failure to npm.
      throw new SetupError(
        `${folder}: npm ended well, but ${left}. Is the package registry reachable, and does it have the package for ${platformOf(options)}?`,
      );
    },
  });
}

async function install(
  folder: string,
  home: string,
  onProgress: InstallOptions['onProgress'],
  holdFor: (pid: number) => void,
): Promise<void> {
  const startedAt = performance.now();
  const packages = join(home, 'node_modules');
  const progress = setInterval(() => {
    void folderBytes(packages).then((bytes) =>
      onProgress(`${folder}: downloading, ${megabytes(bytes)} unpacked`),
    );
  }, PROGRESS_EVERY_MS);
  try {
    forgetInstallation(home);
    await npmInstall(home, holdFor);
  } finally {
    clearInterval(progress);
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  onProgress(`${folder}: installed, ${megabytes(await folderBytes(packages))} in ${seconds} s`);
}

function engineFolder(folder: string, root: string): string {
  const home = join(root, folder);
  // A name, not a path: what is installed must be one of ours.
  const isOurs = /^[a-z0-9-]+$/.test(folder) && existsSync(join(home, 'package-lock.json'));
  if (isOurs) return home;
  const known = readdirSync(root).filter((name) =>
    existsSync(join(root, name, 'package-lock.json')),
  );
  throw new SetupError(
    `there is no engine "${folder}" to install; there is: ${known.sort().join(', ') || 'none'}`,
  );
}

interface LockedPackage {
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
}

/** The packages made for this very platform are optional to npm and necessary to us. */
function missingPlatformPackage(home: string, options: InstallOptions): string | undefined {
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const { platform = process.platform, arch = process.arch } = options;
  const missing = Object.entries(packages).find(
    ([path, { os, cpu }]) =>
      os?.includes(platform) &&
      cpu?.includes(arch) &&
      !existsSync(join(home, path, 'package.json')),
  );
  return missing && `${missing[0].replace('node_modules/', '')} is missing`;
}

function platformOf({ platform = process.platform, arch = process.arch }: InstallOptions): string {
  return `${platform}-${arch}`;
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_000_000)} MB`;
}
