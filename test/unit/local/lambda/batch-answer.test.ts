import { describe, expect, it } from 'vitest';
import { failedItems } from '#local/lambda/batch-answer.ts';

const failedOf = (answer: unknown) => [...failedItems(JSON.stringify(answer), ['m1', 'm2', 'm3'])];
const all = ['m1', 'm2', 'm3'];

describe('the answer to a batch', () => {
  it.each([
    ['nothing', null],
    ['an empty text', ''],
    ['an empty object', {}],
    ['an empty list', { batchItemFailures: [] }],
    ['no list', { batchItemFailures: null }],
    ['B55 the list inside a proxy answer', { statusCode: 200, body: '{"batchItemFailures":[]}' }],
  ])('means that all succeeded when it is %s', (_what, answer) => {
    expect(failedOf(answer)).toEqual([]);
  });

  it.each([
    ['an empty id', { batchItemFailures: [{ itemIdentifier: '' }] }],
    ['a missing id', { batchItemFailures: [{ itemIdentifier: null }] }],
    ['another name for the id', { batchItemFailures: [{ id: 'm1' }] }],
    ['an unknown id', { batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm9' }] }],
    ['ids without objects', { batchItemFailures: ['m1'] }],
    ['no id at all', { batchItemFailures: [null] }],
    ['an object for the list', { batchItemFailures: {} }],
    ['a list', []],
    ['a text', 'ok'],
    ['a number', 1],
    ['true', true],
  ])('B55 means that all failed when it has %s', (_what, answer) => {
    expect(failedOf(answer)).toEqual(all);
  });

  it('means that all failed when it is no JSON', () => {
    expect([...failedItems('{', all)]).toEqual(all);
  });

  it('names the ones that failed, once each', () => {
    const answer = {
      batchItemFailures: [
        { itemIdentifier: 'm3' },
        { itemIdentifier: 'm1', more: 1 },
        { itemIdentifier: 'm3' },
      ],
    };
    expect(failedOf(answer).sort()).toEqual(['m1', 'm3']);
  });
});
