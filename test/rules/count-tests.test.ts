import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROJECT } from './source-files.ts';

const ran = (fullName: string, status: string) => ({ fullName, status });
const file = (status: string, assertionResults: object[], message = '') => ({
  name: 'a.test.ts',
  status,
  message,
  assertionResults,
});

/** The last line of CI is made from vitest's report; a wrong one would call a broken run good. */
describe('the count of tests', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'nexusdesk-count-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function count(testResults: object[] | undefined): { code: number | null; lines: string[] } {
    const report = join(directory, 'report.json');
    if (testResults) writeFileSync(report, JSON.stringify({ testResults }));
    const script = join(PROJECT, '.ci/count-tests.mjs');
    const { status, stdout } = spawnSync(process.execPath, [script, report], { encoding: 'utf8' });
    return { code: status, lines: stdout.trimEnd().split('\n') };
  }

  it('passes when all passed', () => {
    const results = [file('passed', [ran('a', 'passed'), ran('b', 'passed')])];
    expect(count(results)).toEqual({ code: 0, lines: ['2 passed, 0 failed'] });
  });

  it('names what failed and what was skipped', () => {
    const results = [file('failed', [ran('a', 'passed'), ran('b', 'failed'), ran('c', 'skipped')])];
    expect(count(results)).toEqual({
      code: 1,
      lines: ['Failed test: b', 'Skipped tests: 1', '1 passed, 1 failed'],
    });
  });

  it('counts a file that could not be loaded', () => {
    const results = [
      file('passed', [ran('a', 'passed')]),
      file('failed', [], 'Cannot find x\nstack'),
    ];
    expect(count(results)).toEqual({
      code: 1,
      lines: ['Failed test: a.test.ts: Cannot find x', '1 passed, 1 failed'],
    });
  });

  it.each([
    ['no report', undefined],
    ['no file', []],
    ['only skipped tests', [file('skipped', [ran('a', 'skipped')])]],
  ])('fails with %s', (_title, results) => {
    const { code, lines } = count(results);
    expect(code).toBe(1);
    expect(lines.at(-1)).toBe('0 passed, 0 failed');
  });
});
