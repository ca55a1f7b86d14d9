import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { FUNCTIONS } from '#shared/topology/index.ts';

const PROJECT = resolve(import.meta.dirname, '../..');

/** The one engine of the skeleton, with a name that no product file could know. */
export const SKELETON_ENGINE = { engineId: 'acme', version: '1.2.3' };

/**
 * Just enough sources to deploy from: an entry point for each function and one engine image. What is tested is the
 * infrastructure, whatever the functions contain.
 */
export async function createSourceSkeleton(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'nexusdesk-cdk-'));
  await cp(join(PROJECT, 'package.json'), join(root, 'package.json'));
  await cp(join(PROJECT, 'package-lock.json'), join(root, 'package-lock.json'));
  for (const { name } of FUNCTIONS) {
    await writeBelow(
      root,
      `functions/${name}/index.ts`,
      'export const handler = async () => {};\n',
    );
  }
  const { engineId, version } = SKELETON_ENGINE;
  await writeBelow(root, `containers/${engineId}/Dockerfile`, 'FROM scratch\n');
  await writeBelow(
    root,
    `containers/${engineId}/package.json`,
    JSON.stringify({ dependencies: { [`${engineId}-program`]: version } }),
  );
  return root;
}

export async function writeBelow(root: string, path: string, text: string): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
