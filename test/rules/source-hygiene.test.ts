import { dirname, join, resolve, sep } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT, type SourceFile, sourceFiles } from './source-files.ts';

const LINES_AT_MOST = 500;
const CODE = /\.(ts|mts|mjs|cjs|js|py|sh)$/;

const lineCount = (file: SourceFile) => file.text.trimEnd().split('\n').length;

/** Quoted relative paths in a file that lead out of the project. */
function pathsThatEscape(file: SourceFile): string[] {
  const quoted = file.text.matchAll(/['"`]((?:\.\.\/)+[\w.-][^'"`\s]*)['"`]/g);
  return [...quoted]
    .map(([, path = '']) => path)
    .filter((path) => !inProject(resolve(PROJECT, dirname(file.path), path)));
}

const inProject = (path: string) => path === PROJECT || path.startsWith(PROJECT + sep);

/** Places of one machine: where this checkout lies, what lies beside it, somebody's home. */
function machinePaths(file: SourceFile): string[] {
  const places = [PROJECT, join(dirname(PROJECT), 'shared')];
  const homes = file.text.match(/\/Users\/[a-z]\w*/g) ?? [];
  return [...places.filter((place) => file.text.includes(place)), ...homes];
}

describe('source files', () => {
  const files = sourceFiles();

  it('are found', () => {
    expect(files.map((file) => file.path)).toEqual(
      expect.arrayContaining(['package.json', 'shared/contracts/index.ts', '.ci/run']),
    );
  });

  it(`have at most ${LINES_AT_MOST} lines`, () => {
    const long = files.filter((file) => CODE.test(file.path) && lineCount(file) > LINES_AT_MOST);
    expect(long.map((file) => `${file.path}: ${lineCount(file)}`)).toEqual([]);
  });

  it('are tests only where a project of vitest runs them', () => {
    const run = /^test\/(unit|contract|rules|cdk|integration|e2e)\//;
    const tests = files.filter((file) => /\.(test|spec)\.\w+$/.test(file.path));
    expect(tests.filter((file) => !run.test(file.path)).map((file) => file.path)).toEqual([]);
  });

  it('read nothing outside the project', () => {
    const escaping = files.filter((file) => CODE.test(file.path));
    expect(escaping.flatMap((f) => pathsThatEscape(f).map((p) => `${f.path}: ${p}`))).toEqual([]);
  });

  it('name no place of one machine', () => {
    expect(files.flatMap((f) => machinePaths(f).map((p) => `${f.path}: ${p}`))).toEqual([]);
  });

  it('lock packages by content, not by the registry they came from', () => {
    const locks = files.filter((file) => file.path.endsWith('package-lock.json'));
    expect(locks.length).toBeGreaterThan(0);
    const withHost = locks.filter((lock) => lock.text.includes('"resolved": "http'));
    expect(withHost.map((lock) => lock.path)).toEqual([]);
  });

  it('are judged by checks that can fail', () => {
    const up = '../'.repeat(3);
    const at = (path: string, text: string) => ({ path, text });
    expect(pathsThatEscape(at('test/rules/a.ts', `read('${up}elsewhere/x.json')`))).toHaveLength(1);
    expect(pathsThatEscape(at('test/rules/a.ts', `read('../../shared/kit/clock.ts')`))).toEqual([]);
    expect(machinePaths(at('a.ts', `open('${PROJECT}/a')`))).toEqual([PROJECT]);
    expect(machinePaths(at('a.ts', `open('/Users${'/someone'}/a')`))).toHaveLength(1);
  });
});
