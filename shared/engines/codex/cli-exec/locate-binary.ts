import { access, constants, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { satisfies, valid } from 'semver';
import { z } from 'zod';
import type { EngineLocations } from '../../engine-adapter.ts';
import { codexCliExec, codexEngine } from '../descriptor.ts';

/** Platform package of `@openai/codex` and the folder of its native program, by `<platform>-<arch>`. */
const TARGETS: Readonly<Record<string, string>> = {
  'linux-x64': 'x86_64-unknown-linux-musl',
  'linux-arm64': 'aarch64-unknown-linux-musl',
  'darwin-x64': 'x86_64-apple-darwin',
  'darwin-arm64': 'aarch64-apple-darwin',
};

export type CodexBinary =
  | {
      readonly found: true;
      /** The native program: its Node wrapper would leave it running when killed. */
      readonly file: string;
      /** Holds the program and the helpers it looks for beside itself. */
      readonly folder: string;
      readonly version: string;
    }
  | {
      readonly found: false;
      readonly code: 'engine_not_installed' | 'engine_version_unsupported';
      readonly reason: string;
    };

/** Finds Codex where `npm ci` in `containers/codex` puts it. Reads files only. */
export async function locateCodex(locations: EngineLocations): Promise<CodexBinary> {
  const key = `${locations.platform}-${locations.arch}`;
  const target = TARGETS[key];
  if (target === undefined) {
    return notInstalled(
      `Codex has no program for ${key}; it has one for ${Object.keys(TARGETS).join(', ')}`,
    );
  }
  const scope = join(programFolder(locations), 'node_modules', '@openai');
  const name = `codex-${key}`;
  // npm puts the platform package beside the main one, or inside it when something else took its place.
  for (const folder of [join(scope, name), join(scope, 'codex', 'node_modules', '@openai', name)]) {
    const version = await packageVersion(folder, key);
    if (version === undefined) continue;
    const vendor = join(folder, 'vendor', target);
    const file = join(vendor, 'bin', 'codex');
    if (!(await isExecutable(file))) {
      return notInstalled(`Codex ${version} is incomplete: its program is missing`);
    }
    if (valid(version) === null || !satisfies(version, codexCliExec.supportedVersions)) {
      return {
        found: false,
        code: 'engine_version_unsupported',
        reason: `Codex ${version} is installed; this adapter supports ${codexCliExec.supportedVersions}`,
      };
    }
    return { found: true, file, folder: vendor, version };
  }
  return notInstalled('Codex is not installed');
}

function programFolder(locations: EngineLocations): string {
  const { program } = codexEngine;
  return join(locations.programsRoot, program.kind === 'installed' ? program.folder : '');
}

function notInstalled(reason: string): CodexBinary {
  return {
    found: false,
    code: 'engine_not_installed',
    reason: `${reason} (run: nexusdesk engines install codex)`,
  };
}

const manifestSchema = z.object({ version: z.string() });

/** The platform package calls itself `<version>-<platform>-<arch>`. */
async function packageVersion(folder: string, key: string): Promise<string | undefined> {
  try {
    const text = await readFile(join(folder, 'package.json'), 'utf8');
    const { version } = manifestSchema.parse(JSON.parse(text));
    return version.endsWith(`-${key}`) ? version.slice(0, -key.length - 1) : version;
  } catch {
    // Missing or half written: in both cases there is no usable installation here.
    return undefined;
  }
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
