import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Spool } from './spool.ts';

/**
 * One file per name in a directory that only the host's user may enter, and never an engine's: events are masked, but
 * what a host sends must not be what an engine wrote there. The directory is made with the first file: most runs need
 * none. `parent` is the system's temporary directory, or another one that engines cannot enter or rename.
 */
export function openDiskSpool(parent: string): Spool {
  let made: Promise<string> | undefined;
  const folder = () => {
    // mkdtemp makes it 0700 under a name that did not exist.
    made ??= mkdtemp(join(parent, 'nexusdesk-spool-'));
    return made;
  };
  return {
    async write(name, text) {
      const file = join(await folder(), name);
      // The disk may be full half way: what was there before must stay readable.
      await writeFile(`${file}.new`, text, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    async read(name) {
      return await readFile(join(await folder(), name), 'utf8');
    },
    async remove(name) {
      if (made) await rm(join(await made, name), { force: true });
    },
    async discard() {
      // A directory that could not be made holds nothing.
      const path = await made?.catch(() => undefined);
      if (path) await rm(path, { recursive: true, force: true });
    },
  };
}
