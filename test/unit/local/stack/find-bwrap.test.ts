import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { findBundledBwrap } from '#local/stack/find-bwrap.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nexusdesk-bwrap-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function put(...path: string[]): string {
  const file = join(root, ...path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
  return file;
}

it('finds the one that an engine brought when the system has none', () => {
  const bundled = put('acme', 'node_modules/@acme/agent-linux/vendor/x64/resources/bwrap');
  expect(findBundledBwrap(root, '/nowhere:')).toBe(bundled);
});

it('leaves it to the one of the system', () => {
  put('acme', 'node_modules/@acme/agent-linux/vendor/x64/resources/bwrap');
  expect(findBundledBwrap(root, dirname(put('bin', 'bwrap')))).toBeUndefined();
});

it('finds none where no engine is installed', () => {
  expect(findBundledBwrap(join(root, 'missing'), undefined)).toBeUndefined();
});
