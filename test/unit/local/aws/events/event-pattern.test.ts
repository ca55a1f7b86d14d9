import { describe, expect, it } from 'vitest';
import { compileEventPattern } from '#local/aws/events/event-pattern.ts';

const fits = (pattern: object, event: object) =>
  compileEventPattern(JSON.stringify(pattern))(event);
const compile = (pattern: object) => () => compileEventPattern(JSON.stringify(pattern));

interface Case {
  readonly title: string;
  readonly pattern: object;
  readonly fits?: readonly object[];
  readonly misses?: readonly object[];
}

/** What AWS documents, and what was recorded of it; the contract suite has the plain cases. */
const CASES: readonly Case[] = [
  {
    title: 'takes an empty event array for an absent field',
    pattern: { a: [null] },
    fits: [{ a: null }, { a: [null] }],
    misses: [{ a: [] }, {}],
  },
  {
    title: 'needs one element of an array of objects to fit as a whole',
    pattern: { steps: { name: ['build'], state: ['failed'] } },
    fits: [{ steps: [{ name: 'test' }, { name: 'build', state: 'failed' }] }],
    misses: [
      {
        steps: [
          { name: 'build', state: 'done' },
          { name: 'test', state: 'failed' },
        ],
      },
    ],
  },
  {
    title: 'takes an object for an absent leaf',
    pattern: { a: [{ exists: false }] },
    fits: [{}, { a: { b: 1 } }],
    misses: [{ a: 1 }, { a: null }],
  },
  {
    title: 'takes a field below an absent one for absent',
    pattern: { a: { b: [{ exists: false }] } },
    fits: [{}, { a: {} }, { a: 1 }],
    misses: [{ a: { b: 1 } }],
  },
  {
    title: 'lets anything-but match values of other types, and not an absent field',
    pattern: { a: [{ 'anything-but': { prefix: 'x' } }] },
    fits: [{ a: 5 }, { a: null }, { a: 'y' }],
    misses: [{ a: 'xy' }, {}],
  },
  {
    title: 'knows the other exceptions of anything-but',
    pattern: {
      a: [{ 'anything-but': { suffix: ['.log', '.tmp'] } }],
      b: [{ 'anything-but': { 'equals-ignore-case': ['Root', 'admin'] } }],
      c: [{ 'anything-but': { wildcard: '*/bin/*' } }],
    },
    fits: [{ a: 'x.txt', b: 'guest', c: '/home/x' }],
    misses: [
      { a: 'x.tmp', b: 'guest', c: '/home/x' },
      { a: 'x.txt', b: 'ROOT', c: '/home/x' },
      { a: 'x.txt', b: 'guest', c: '/usr/bin/x' },
    ],
  },
  {
    title: 'ignores case in prefix and suffix when told to',
    pattern: {
      a: [{ prefix: { 'equals-ignore-case': 'RUN' } }],
      b: [{ suffix: { 'equals-ignore-case': '.TS' } }],
    },
    fits: [{ a: 'Running', b: 'x.ts' }],
    misses: [{ a: 'walk', b: 'x.ts' }],
  },
  {
    title: 'takes escaped stars and backslashes of a wildcard as they are',
    pattern: { a: [{ wildcard: 'a\\*b*c\\\\d' }] },
    fits: [{ a: 'a*b---c\\d' }, { a: 'a*bc\\d' }],
    misses: [{ a: 'axb-c\\d' }, { a: 'a*b-c\\\\d' }],
  },
  {
    title: 'takes other signs of a wildcard as they are, line breaks included',
    pattern: { a: [{ wildcard: 'x.(y)[z]*$' }] },
    fits: [{ a: 'x.(y)[z]\n$' }],
    misses: [{ a: 'x-(y)[z]$' }],
  },
  {
    title: 'matches addresses by network',
    pattern: { a: [{ cidr: '10.0.0.0/24' }, { cidr: '2001:db8::/32' }] },
    fits: [{ a: '10.0.0.200' }, { a: '2001:db8::1' }],
    misses: [{ a: '10.0.1.1' }, { a: 'no address' }, { a: 10 }],
  },
  {
    title: 'takes $or as a name when it is not a list of alternatives',
    pattern: { $or: ['a', 'b'] },
    fits: [{ $or: 'a' }],
    misses: [{ a: 1 }],
  },
  {
    title: 'nests $or',
    pattern: { d: { $or: [{ a: [1] }, { b: [2], $or: [{ c: [3] }, { e: [4] }] }] } },
    fits: [{ d: { a: 1 } }, { d: { b: 2, e: 4 } }],
    misses: [{ d: { b: 2 } }, { d: { c: 3 } }],
  },
  {
    title: 'does not find fields that every object has',
    pattern: { constructor: [{ exists: true }] },
    misses: [{}],
    fits: [{ constructor: 'x' }],
  },
];

describe('an event pattern', () => {
  for (const sample of CASES) {
    it(sample.title, () => {
      for (const event of sample.fits ?? []) {
        expect([event, fits(sample.pattern, event)]).toEqual([event, true]);
      }
      for (const event of sample.misses ?? []) {
        expect([event, fits(sample.pattern, event)]).toEqual([event, false]);
      }
    });
  }

  it.each([
    ['a value without a list', { a: 'x' }, '"a" must be an object or an array'],
    ['an empty list', { a: [] }, 'Empty arrays are not allowed'],
    ['an empty object', { a: {} }, 'Empty objects are not allowed'],
    ['an operator in capitals', { a: [{ EXISTS: true }] }, 'Unrecognized match type EXISTS'],
    ['two operators in one', { a: [{ prefix: 'a', suffix: 'b' }] }, 'Only one key allowed'],
    ['exists with more', { a: [{ exists: true, prefix: 'a' }] }, 'Only one key allowed'],
    ['exists that is no boolean', { a: [{ exists: 'yes' }] }, 'must be true or false'],
    ['a range twice from below', { a: [{ numeric: ['>', 0, '>', 1] }] }, 'range operator: >'],
    ['half a range', { a: [{ numeric: ['>', 0, '<'] }] }, 'Value of < must be numeric'],
    ['a number too large', { a: [{ numeric: ['=', 5.1e9] }] }, 'Value must be between'],
    ['a prefix that is no text', { a: [{ prefix: 1 }] }, 'must be a string'],
    ['consecutive wildcards', { a: [{ wildcard: 'a**b' }] }, 'Consecutive wildcard'],
    ['a strange escape', { a: [{ wildcard: 'a\\b' }] }, 'Invalid escape'],
    ['a network without its size', { a: [{ cidr: '10.0.0.0' }] }, 'Malformed CIDR'],
    ['a network that is too large', { a: [{ cidr: '10.0.0.0/33' }] }, 'Malformed CIDR'],
    ['anything-but null', { a: [{ 'anything-but': null }] }, 'Value of anything-but'],
    ['anything-but mixed types', { a: [{ 'anything-but': ['a', 1] }] }, 'Value of anything-but'],
    ['anything-but no prefix', { a: [{ 'anything-but': { prefix: '' } }] }, 'not allowed'],
    ['anything-but a range', { a: [{ 'anything-but': { numeric: [] } }] }, 'Unsupported'],
  ])('refuses %s', (_title, pattern, reason) => {
    expect(compile(pattern)).toThrow(reason);
    expect(compile(pattern)).toThrow(
      expect.objectContaining({ type: 'InvalidEventPatternException' }),
    );
  });

  it('has a size limit', () => {
    expect(compile({ a: ['x'.repeat(4096)] })).toThrow('4096');
  });
});
