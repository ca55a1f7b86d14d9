import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

const ENGINE_NAME = /codex|claude|local[-_]test/i;
/** What an engine consists of (REG-2): its adapter and its image. */
const OWN_FOLDERS = /^(shared\/engines|containers\/(codex|claude|local-test))\//;
const PRODUCT_FOLDERS = ['shared', 'functions', 'containers', 'client', 'cdk', 'local'];

/** Files that may name an engine although they belong to none, each with its reason. */
const ALLOWED: Readonly<Record<string, string>> = {
  'local/main.ts': 'installs the engine that the demo run asks for',
  'local/stack/demo.ts': 'asks for an engine by name, as any client does',
};

const namesAnEngine = (file: SourceFile) =>
  !OWN_FOLDERS.test(file.path) && ENGINE_NAME.test(`${file.path}\n${file.text}`);

describe('REG-2 engine names', () => {
  const found = sourceFiles(PRODUCT_FOLDERS).filter(namesAnEngine);

  it('appear nowhere but in the folders of the engines', () => {
    expect(found.map((file) => file.path).filter((path) => !(path in ALLOWED))).toEqual([]);
  });

  it('are still used by every file that is allowed to', () => {
    expect(Object.keys(ALLOWED).filter((path) => !found.some((f) => f.path === path))).toEqual([]);
  });

  it.each([
    ['shared/orchestrator/pick.ts', `if (engine === 'codex') start();`, true],
    ['functions/api/create-run/handler.ts', '// as Claude does', true],
    ['local/main.ts', `run('local_test')`, true],
    ['shared/runtime/claude-start.ts', 'start()', true],
    ['shared/engines/codex/descriptor.ts', `engine: 'codex'`, false],
    ['containers/codex/Dockerfile', 'RUN codex --version', false],
    ['shared/runs/local.ts', 'a local tester', false],
  ])('in %s: %s → %s', (path, text, caught) => {
    expect(namesAnEngine({ path, text })).toBe(caught);
  });
});
