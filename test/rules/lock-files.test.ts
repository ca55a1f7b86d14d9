import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT, sourceFiles } from './source-files.ts';

interface Entry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
type Packages = Readonly<Record<string, Entry>>;

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

const locks = sourceFiles().filter((file) => file.path.endsWith('package-lock.json'));

/** Names that an entry asks for and no folder above it holds. `npm ci` refuses such a lock file. */
function missingFrom(packages: Packages): string[] {
  return Object.entries(packages).flatMap(([path, entry]) =>
    KINDS.flatMap((kind) => Object.keys(entry[kind] ?? {}))
      .filter((name) => !isReachable(packages, path, name))
      .map((name) => `${path || 'the project'} needs ${name}`),
  );
}

function isReachable(packages: Packages, from: string, name: string): boolean {
  const candidate = from === '' ? `node_modules/${name}` : `${from}/node_modules/${name}`;
  if (candidate in packages) return true;
  if (from === '') return false;
  return isReachable(
    packages,
    from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))),
    name,
  );
}

describe.each(locks.map((lock) => [lock.path, lock.text]))('%s', (path, text) => {
  const { packages } = JSON.parse(text) as { packages: Packages };

  it('holds all that its packages ask for, optional ones too', () => {
    expect(missingFrom(packages)).toEqual([]);
  });

  it('was made from the package.json beside it', () => {
    const manifest = JSON.parse(
      readFileSync(join(PROJECT, dirname(path), 'package.json'), 'utf8'),
    ) as Entry;
    const asked = KINDS.map((kind) => manifest[kind] ?? {});
    expect(KINDS.map((kind) => packages['']?.[kind] ?? {})).toEqual(asked);
  });
});

it('a lock file without an optional package of a package is noticed', () => {
  const packages = {
    '': { dependencies: { a: '1' } },
    'node_modules/a': { optionalDependencies: { b: '1', c: '1', d: '1' } },
    'node_modules/a/node_modules/b': {},
    'node_modules/c': {},
  };
  expect(missingFrom(packages)).toEqual(['node_modules/a needs d']);
});
