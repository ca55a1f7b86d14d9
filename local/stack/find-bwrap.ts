import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * A `bwrap` that came with an engine's program, for machines that have none of their own: so a newcomer's runs are
 * fenced without installing anything. Undefined when the system has one, or when no engine brought one.
 */
export function findBundledBwrap(
  programsRoot: string,
  path: string | undefined,
): string | undefined {
  const folders = (path ?? '').split(delimiter).filter(Boolean);
  if (folders.some((folder) => existsSync(join(folder, 'bwrap')))) return undefined;
  const [first] = globSync('*/node_modules/@*/*/vendor/*/*/bwrap', { cwd: programsRoot }).sort();
  return first && join(programsRoot, first);
}
