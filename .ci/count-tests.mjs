/**
 * `node count-tests.mjs <report>`: reads the JSON report of vitest, names what failed and what was
 * skipped, and prints `N passed, N failed` as the last line. A test file that could not be loaded
 * counts as one failure. Exits with 1 when anything failed or nothing passed.
 */
import { existsSync, readFileSync } from 'node:fs';

const [reportPath = ''] = process.argv.slice(2);
const files = existsSync(reportPath)
  ? JSON.parse(readFileSync(reportPath, 'utf8')).testResults
  : [];
if (files.length === 0) console.log('No test ran: vitest left no results.');

const tests = files.flatMap((file) => file.assertionResults);
const withStatus = (status) => tests.filter((test) => test.status === status);
const failures = [
  ...withStatus('failed').map((test) => test.fullName),
  ...files.filter(hasOnlyFailedItself).map((file) => `${file.name}: ${firstLine(file.message)}`),
];
const skipped = tests.length - withStatus('passed').length - withStatus('failed').length;

for (const failure of failures) console.log(`Failed test: ${failure}`);
if (skipped > 0) console.log(`Skipped tests: ${skipped}`);
console.log(`${withStatus('passed').length} passed, ${failures.length} failed`);
process.exitCode = failures.length > 0 || withStatus('passed').length === 0 ? 1 : 0;

/** It broke outside its tests: while it was loaded, or in a hook. */
function hasOnlyFailedItself(file) {
  return file.status === 'failed' && !file.assertionResults.some((t) => t.status === 'failed');
}

function firstLine(text) {
  return (text ?? '').split('\n', 1)[0];
}
