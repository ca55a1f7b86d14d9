import { describe, expect, it } from 'vitest';

/** The two implementations a contract suite runs on: our emulators, and moto as the independent reference. */
export type Side = 'embedded' | 'moto';

/**
 * A test which is known to fail on one side. The test states what AWS does, so it fails on the side AWS is
 * *not* on.
 */
export interface Divergence {
  /** The exact title given to `it` in the suite. */
  readonly title: string;
  /** The side that behaves as AWS does. */
  readonly awsIsOn: Side;
  /** What the other side does instead, and how we know what AWS does. */
  readonly why: string;
  /** What the failure must look like (matched on `name: message`), so that it fails for the known reason. */
  readonly symptom?: RegExp;
}

/** As vitest's `it`. Titles are unique within a suite, since a divergence names its test by title. */
export type ContractIt = (
  title: string,
  body: () => unknown,
  options?: { readonly timeoutMs?: number },
) => void;

export interface ContractOptions {
  /** What the suite is called in the report, for example `dynamo on the embedded emulator`. */
  readonly name: string;
  readonly side: Side;
  /** The whole list of the service, both sides; entries of the other side are simply run as tests. */
  readonly divergences: readonly Divergence[];
}

/** A reference that is not running proves nothing about how it behaves. */
const UNREACHABLE = /ECONNREFUSED|ECONNRESET|EPIPE|socket hang up|UnknownEndpoint/;

/**
 * Defines a contract suite on one side. An unlisted failure fails; a test listed as failing on this side has
 * to fail, with its symptom, so an entry that no longer diverges fails too; and so does an entry that names
 * no test. `define` registers its tests with the `it` it is given; vitest's own hooks and nested `describe`
 * work as usual.
 *
 * @example
 * describeContract({ name: 'sqs on moto', side: 'moto', divergences: SQS_DIVERGENCES }, (it) => {
 *   it('delivers a message once while it is in flight', async () => { ... });
 * });
 */
export function describeContract(
  options: ContractOptions,
  define: (contractIt: ContractIt) => void,
): void {
  const { side, divergences } = options;
  const titles = new Set<string>();
  const contractIt: ContractIt = (title, body, { timeoutMs = 30_000 } = {}) => {
    if (titles.has(title)) throw new Error(`two contract tests are called "${title}"`);
    titles.add(title);
    const known = divergences.find((entry) => entry.title === title && entry.awsIsOn !== side);
    if (!known) {
      it(title, async () => void (await body()), timeoutMs);
      return;
    }
    it(
      `${title} (known to diverge on ${side}: ${known.why})`,
      () => diverges(known, body),
      timeoutMs,
    );
  };
  describe(options.name, () => {
    define(contractIt);
    it('lists only divergences of tests that exist', () => {
      const listed = divergences.map((entry) => entry.title);
      expect(listed.filter((title) => !titles.has(title))).toEqual([]);
    });
  });
}

/** Passes when `body` fails in the way the entry describes. */
export async function diverges(entry: Divergence, body: () => unknown): Promise<void> {
  let failure: unknown;
  try {
    await body();
  } catch (error) {
    failure = error ?? new Error('failed without a reason');
  }
  expect(failure, `no longer diverges, so remove the entry: ${entry.title}`).toBeDefined();
  const text = failure instanceof Error ? `${failure.name}: ${failure.message}` : String(failure);
  const known = !UNREACHABLE.test(text) && (entry.symptom?.test(text) ?? true);
  expect(known, `failed, but not by its known divergence: ${text}`).toBe(true);
}
