import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { PROJECT } from './source-files.ts';

const FUNCTIONS_ROOT = join(PROJECT, 'functions');

/** `api/create-run` for every folder two levels below functions/, but the shared kit. */
function functionFolders(): string[] {
  return foldersIn(FUNCTIONS_ROOT)
    .filter((group) => group !== 'kit')
    .flatMap((group) => foldersIn(join(FUNCTIONS_ROOT, group)).map((name) => `${group}/${name}`));
}

function foldersIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

describe('the catalogue of functions', () => {
  const catalogued = FUNCTIONS.map((entry) => entry.name);

  it('names every folder of functions/, and only those', () => {
    expect(functionFolders().sort()).toEqual([...catalogued].sort());
  });

  it('names each function once', () => {
    expect(catalogued.filter((name, index) => catalogued.indexOf(name) !== index)).toEqual([]);
  });

  it.each(catalogued)('%s has an entry point', (name) => {
    expect(existsSync(join(FUNCTIONS_ROOT, name, 'index.ts'))).toBe(true);
  });
});
