import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

export const PROJECT = resolve(import.meta.dirname, '../..');

/** Made by tools, or data that others wrote. */
const NOT_OURS = new Set(['node_modules', '.git', '.nexusdesk', 'cdk.out', 'coverage', 'fixtures']);
const TEXT = /\.(ts|mts|mjs|cjs|js|py|sh|md|json|ya?ml|html|css)$|(^|\/)(Dockerfile|run)$/;

export interface SourceFile {
  /** Below the project, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

/** Every text file of the project, committed or not, below the given folders (all by default). */
export function sourceFiles(folders: readonly string[] = ['.']): SourceFile[] {
  return folders.flatMap((folder) => filesBelow(join(PROJECT, folder)));
}

function filesBelow(directory: string): SourceFile[] {
  return entriesOf(directory).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    if (!entry.isFile() || !TEXT.test(path)) return [];
    return [{ path: relative(PROJECT, path), text: readFileSync(path, 'utf8') }];
  });
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
