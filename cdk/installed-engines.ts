import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeployedEngine, StageConfig } from './stage-config.ts';

/**
 * Engines that the image of an environment contains. A folder below `containers/` with a package.json is an engine
 * of that name; its one dependency, pinned exactly, is the engine's program. So adding an engine changes nothing here.
 *
 * @throws Error when a folder does not say which version of which program it is
 */
export function deployedEngines(
  config: StageConfig,
  sourceRoot: string,
): readonly DeployedEngine[] {
  if (config.image.kind === 'registry') return config.image.engines;
  const containers = join(sourceRoot, 'containers');
  return foldersIn(containers)
    .filter((folder) => existsSync(join(containers, folder, 'package.json')))
    .map((folder) => ({ engineId: folder, version: pinnedVersion(join(containers, folder)) }));
}

/**
 * The Dockerfile of the task, relative to the sources.
 *
 * @throws Error when it is not clear which one is meant
 */
export function dockerfileOf(dockerfile: string | undefined, sourceRoot: string): string {
  if (dockerfile) return dockerfile;
  const found = foldersIn(join(sourceRoot, 'containers'))
    .map((folder) => `containers/${folder}/Dockerfile`)
    .filter((path) => existsSync(join(sourceRoot, path)));
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  throw new Error(
    `one task definition runs one image: set image.dockerfile to one of ${found.join(', ') || '(no containers/*/Dockerfile found)'}`,
  );
}

function foldersIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

function pinnedVersion(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const versions = Object.values(
    (manifest as { dependencies?: Record<string, string> }).dependencies ?? {},
  );
  const [version, ...others] = versions;
  if (version === undefined || others.length > 0 || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(
      `${folder}: expected one dependency with an exact version, found: ${versions.join(', ')}`,
    );
  }
  return version;
}
