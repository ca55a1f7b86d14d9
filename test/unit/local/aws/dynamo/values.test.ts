import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadDynalite } from '#local/aws/dynamo/dynalite.ts';
import type { AttributeValue, Item } from '#local/aws/dynamo/model.ts';
import { itemSize, nestingOf, sameItem } from '#local/aws/dynamo/values.ts';

const text = fc.string({ unit: 'grapheme-ascii', maxLength: 8 });
const number = fc
  .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: -6, max: 6 }))
  .map(([digits, power]) => plainNumber(digits, power));
const binary = fc
  .uint8Array({ maxLength: 8 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const set = <T>(member: fc.Arbitrary<T>) => fc.uniqueArray(member, { minLength: 1, maxLength: 4 });

const { item } = fc.letrec<{ item: Item; value: AttributeValue }>((tie) => ({
  item: fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 3 },
    fc.record({ S: text }),
    fc.record({ N: number }),
    fc.record({ B: binary }),
    fc.record({ BOOL: fc.boolean() }),
    fc.record({ NULL: fc.constant(true) }),
    fc.record({ SS: set(text) }),
    fc.record({ NS: set(number) }),
    fc.record({ BS: set(binary) }),
    fc.record({ L: fc.array(tie('value'), { maxLength: 3 }) }),
    fc.record({ M: tie('item') }),
  ),
}));

/** As DynamoDB writes numbers: without an exponent. */
function plainNumber(digits: number, power: number): string {
  const value = { N: `${digits}e${power}` };
  loadDynalite().validateAttributeValue(value);
  return value.N;
}

/** The same item with its sets and attributes in another order. */
function reordered(original: Item): Item {
  const entries = Object.entries(original).reverse();
  return Object.fromEntries(entries.map(([name, value]) => [name, reorderedValue(value)]));
}

function reorderedValue(value: AttributeValue): AttributeValue {
  if (value.M) return { M: reordered(value.M) };
  if (value.L) return { L: value.L.map(reorderedValue) };
  for (const type of ['SS', 'NS', 'BS'] as const) {
    const members = value[type];
    if (members) return { [type]: [...members].reverse() };
  }
  return value;
}

describe('the size of an item', () => {
  it('is what dynalite counts, which was checked against AWS, for ASCII text', () => {
    const { originals } = loadDynalite();
    fc.assert(
      fc.property(item, (it) => {
        expect(itemSize(it)).toBe(originals.itemSize(it));
      }),
    );
  });

  it('counts UTF-8 bytes of names and text', () => {
    expect(itemSize({ ż: { S: '\u{1F600}' } })).toBe(2 + 4);
  });
});

describe('the sameness of items', () => {
  it('does not depend on the order of attributes or of set members', () => {
    fc.assert(
      fc.property(item, (it) => {
        expect(sameItem(it, reordered(it))).toBe(true);
      }),
    );
  });

  it('is lost with any change', () => {
    const base: Item = { a: { S: '' }, l: { L: [{ N: '1' }, { SS: ['x', 'y'] }] } };
    const others: Item[] = [
      { ...base, b: { NULL: true } },
      { l: base.l ?? {} },
      { ...base, a: { B: '' } },
      { ...base, l: { L: [{ SS: ['x', 'y'] }, { N: '1' }] } },
      { ...base, l: { L: [{ N: '1' }, { SS: ['x', 'z'] }] } },
      { ...base, l: { L: [{ N: '1' }, { SS: ['x'] }] } },
      { ...base, l: { M: {} } },
    ];
    for (const other of others) {
      expect(sameItem(base, other)).toBe(false);
      expect(sameItem(other, base)).toBe(false);
    }
  });
});

it('nesting counts lists and maps', () => {
  expect(nestingOf({ S: 'x' })).toBe(0);
  expect(nestingOf({ L: [{ M: { a: { L: [] } } }, { S: 'x' }] })).toBe(3);
});
