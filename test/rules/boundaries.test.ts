import { createRequire } from 'node:module';
import { beforeAll, describe, expect, it } from 'vitest';
import { CANARIES, CLEAN_TREE } from './canaries.ts';
import { type CruiseReport, cruise } from './skeleton.ts';

const ruleFile = createRequire(import.meta.url)('../../.dependency-cruiser.cjs') as {
  readonly forbidden: readonly { readonly name: string }[];
};

describe('the rules of .dependency-cruiser.cjs', () => {
  it('are silent on a tree that uses every allowance, having read all of it', async () => {
    const report = await cruise(CLEAN_TREE);
    expect(report.violations).toEqual([]);
    // A TypeScript that dependency-cruiser cannot read yields "no violations" in 0 modules.
    expect(report.modulesCruised).toBeGreaterThan(Object.keys(CLEAN_TREE).length);
  });

  it('each have a canary', () => {
    const covered = new Set(CANARIES.flatMap((canary) => canary.rules));
    expect([...covered].sort()).toEqual(ruleFile.forbidden.map((rule) => rule.name).sort());
  });

  describe('catch their canary', () => {
    let report: CruiseReport;

    // One run for all: no canary imports the file of another, so each answers for itself.
    beforeAll(async () => {
      report = await cruise(Object.assign({}, CLEAN_TREE, ...CANARIES.map((c) => c.files)));
    });

    it.each(CANARIES.map((canary) => [canary.rules.join(' and '), canary] as const))(
      '%s, and no other rule',
      (_title, { rules, files }) => {
        const answers = report.violations.filter((violation) => violation.from in files);
        expect([...new Set(answers.map((violation) => violation.rule))].sort()).toEqual(
          [...rules].sort(),
        );
      },
    );

    it('without accusing the rest of the tree', () => {
      const planted = new Set(CANARIES.flatMap((canary) => Object.keys(canary.files)));
      expect(report.violations.filter((violation) => !planted.has(violation.from))).toEqual([]);
    });
  });
});
