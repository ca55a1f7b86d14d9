import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { failedItems } from '#local/lambda/batch-answer.ts';
import { batchAnswer } from '../../../../functions/kit/batch-answer.ts';

describe('the answer to a batch', () => {
  it('B55 names failed items of the batch, each once, and is understood as meant', () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(ids, fc.array(fc.nat(9)), (batch, places) => {
        const failed = places.flatMap((place) => batch[place] ?? []);
        const answer = batchAnswer(batch, failed);
        expect(Object.keys(answer)).toEqual(['batchItemFailures']);
        for (const item of answer.batchItemFailures) {
          expect(Object.keys(item)).toEqual(['itemIdentifier']);
        }
        expect(answer.batchItemFailures).toHaveLength(new Set(failed).size);
        expect(failedItems(JSON.stringify(answer), batch)).toEqual(new Set(failed));
      }),
    );
  });

  it('B65 is exactly an empty list for a success', () => {
    expect(JSON.stringify(batchAnswer(['m1'], []))).toBe('{"batchItemFailures":[]}');
  });

  it.each(['', 'm9'])(
    'B55 fails openly instead of naming what is not in the batch: %j',
    (unknown) => {
      expect(() => batchAnswer(['m1', ''], ['m1', unknown])).toThrow(RangeError);
    },
  );
});
