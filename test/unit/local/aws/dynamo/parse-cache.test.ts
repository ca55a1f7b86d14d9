import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttributeValue } from '#local/aws/dynamo/model.ts';
import {
  cacheParses,
  type ExpressionParser,
  type ParseContext,
} from '#local/aws/dynamo/parse-cache.ts';

const require = createRequire(import.meta.url);
const compare = (_operator: 'GT', low: AttributeValue, high: AttributeValue) =>
  Number(low.N ?? 0) > Number(high.N ?? 0);

/** dynalite's parser of one kind, as it is and with a memory. */
function parsers(kind: 'condition' | 'update' | 'projection') {
  const { parse } = require(`dynalite/db/${kind}Parser`) as ExpressionParser;
  const cached: ExpressionParser = { parse };
  cacheParses(cached);
  return { plain: { parse } as ExpressionParser, cached };
}

type Names = Record<string, string>;
type Values = Record<string, AttributeValue>;

/** What a parse answers, or throws, and what it leaves unused. */
function outcome(parser: ExpressionParser, text: string, attrNames: Names, attrVals: Values) {
  const marked = (names: object) =>
    Object.fromEntries(Object.keys(names).map((name) => [name, true]));
  const context: ParseContext & { isReserved: (name: string) => boolean } = {
    attrNames,
    attrVals,
    unusedAttrNames: marked(attrNames),
    unusedAttrVals: marked(attrVals),
    isReserved: (name) => name === 'reserved',
    compare,
  };
  let answer: unknown;
  try {
    answer = parser.parse(text, { context });
  } catch (error) {
    return { thrown: (error as Error).message };
  }
  // With an error nothing more is looked at.
  if (typeof answer === 'string') return { answer };
  return {
    answer,
    names: Object.keys(context.unusedAttrNames),
    values: Object.keys(context.unusedAttrVals),
  };
}

const value = fc.oneof<fc.Arbitrary<AttributeValue>[]>(
  fc.integer({ min: -3, max: 3 }).map((n) => ({ N: String(n) })),
  fc.constantFrom('N', 'S', 'x').map((S) => ({ S })),
  fc.constant({ L: [] }),
  fc.constant({ SS: ['a'] }),
  fc.constant({ BOOL: true }),
);
const dictionaries = fc.record({
  names: fc.dictionary(fc.constantFrom('#a', '#b', '#c'), fc.constantFrom('a', 'b', 'c:d', '')),
  values: fc.dictionary(fc.constantFrom(':v', ':w', ':x'), value),
});

const CONDITIONS = [
  'a = :v',
  ':v < a AND #b <> :w',
  '#a = #b',
  'a BETWEEN :v AND :w',
  'a BETWEEN :v AND :w OR (#c IN (:v, :w, :x))',
  'attribute_type(#a, :v)',
  'NOT attribute_exists(#a.#b[3]) AND begins_with(#c, :v)',
  'size(#a) > :v AND contains(b, :w)',
  'begins_with(a, b) OR reserved = :v',
  'size(a)',
  'a = ',
];
const UPDATES = [
  'SET a = :v',
  'SET #a = if_not_exists(#a, :v) + :w, b = list_append(:x, b) ADD c :w',
  'SET #a = :v, #b = :v REMOVE #c',
  'ADD #a :v DELETE #b :w',
  'SET a.#b[1] = :v REMOVE c[0], c[1]',
  'SET reserved = :v',
  'SET a = ',
];

describe('a parser that remembers', () => {
  it.each([
    { kind: 'condition', texts: CONDITIONS },
    { kind: 'update', texts: UPDATES },
    { kind: 'projection', texts: ['a, #b', '#a.#b[1], #c', 'a,', 'reserved'] },
  ] as const)('answers for each $kind what it would anew', ({ kind, texts }) => {
    const { plain, cached } = parsers(kind);
    fc.assert(
      fc.property(fc.constantFrom(...texts), dictionaries, (text, { names, values }) => {
        const expected = outcome(plain, text, names, values);
        expect(outcome(cached, text, names, values)).toEqual(expected);
        expect(outcome(cached, text, names, values)).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('gives nodes that may be changed', () => {
    const { cached } = parsers('condition');
    const parse = () => outcome(cached, ':v < a', {}, { ':v': { N: '1' } });
    const first = parse() as { answer: { expression: { type: string; args: unknown[] } } };
    first.answer.expression.type = '>';
    first.answer.expression.args[1] = undefined;
    expect(parse()).toMatchObject({
      answer: { expression: { type: '<', args: [{ N: '1' }, ['a']] } },
    });
  });

  it('does not parse again what differs in values only', () => {
    const { parse } = parsers('condition').plain;
    let parsed = 0;
    const counted: ExpressionParser = {
      parse(text, options) {
        parsed += 1;
        return parse(text, options);
      },
    };
    cacheParses(counted);
    for (const N of ['1', '2', '3']) outcome(counted, 'a = :v', {}, { ':v': { N } });
    expect(parsed).toBe(1);
    outcome(counted, 'a = :v', {}, { ':v': { S: '1' } });
    expect(parsed).toBe(2);
  });
});
