import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadDynalite } from '#local/aws/dynamo/dynalite.ts';
import type { DynaliteValidations } from '#local/aws/dynamo/dynalite-types.ts';
import type { AttributeValue, Table } from '#local/aws/dynamo/model.ts';
import { copyOfPlain, isPlainlyValid } from '#local/aws/dynamo/plain-values.ts';

const require = createRequire(import.meta.url);
const { checkTypes } = require('dynalite/validations') as DynaliteValidations;
const TYPES = { Item: { type: 'Map<AttributeValue>', children: 'AttrStruct<ValueStruct>' } };

/** Right and wrong ones. */
const text = fc.oneof(
  fc.string({ maxLength: 4 }),
  fc.constantFrom(
    '',
    'AA==',
    'AB==',
    'AAA=',
    'AAB=',
    'A',
    '0',
    '-0',
    '01',
    '1.0',
    '1e3',
    '-7',
    '12345',
  ),
  fc.bigInt({ min: 10n ** 36n, max: 10n ** 39n }).map(String),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    ...['S', 'N', 'B'].map((type) => text.map((held) => ({ [type]: held }))),
    ...['BOOL', 'NULL'].map((type) =>
      fc.oneof(fc.boolean(), fc.constant('yes')).map((held) => ({ [type]: held })),
    ),
    ...['SS', 'NS', 'BS'].map((type) =>
      fc.array(text, { maxLength: 3 }).map((held) => ({ [type]: held })),
    ),
    fc.array(tie('value'), { maxLength: 3 }).map((L) => ({ L })),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('value')).map((M) => ({ M })),
    fc.record({ S: text, N: text }, { requiredKeys: [] }),
    fc.constantFrom(null, 7, 'text', [], {}, { X: 'x' }),
  ),
}));

describe('the short way for plain values', () => {
  it('takes for plain only what the checks of types pass as it is, and copies it', () => {
    let plain = 0;
    fc.assert(
      fc.property(value, (held) => {
        const Item = { name: held };
        const copy = copyOfPlain(Item);
        if (!copy) return;
        plain += 1;
        expect(copy).toEqual(checkTypes({ Item }, TYPES).Item);
        expect(copy.name).not.toBe(held);
      }),
      { numRuns: 3000 },
    );
    expect(plain).toBeGreaterThan(500);
  });

  it('takes for valid only what the checks of values let pass unchanged', () => {
    const { validateAttributeValue } = loadDynalite().originals;
    let valid = 0;
    fc.assert(
      fc.property(value, (held) => {
        const copy = copyOfPlain({ name: held })?.name;
        if (!copy || !isPlainlyValid(copy)) return;
        valid += 1;
        const checked = structuredClone(copy);
        expect(validateAttributeValue(checked)).toBeUndefined();
        expect(checked).toEqual(copy);
      }),
      { numRuns: 3000 },
    );
    expect(valid).toBeGreaterThan(300);
  });
});

it('encodes keys as dynalite does', () => {
  const { db, originals } = loadDynalite();
  const KeySchema = [
    { AttributeName: 'a', KeyType: 'HASH' },
    { AttributeName: 'b', KeyType: 'RANGE' },
  ] as const;
  const key = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }).map((S): [string, AttributeValue] => ['S', { S }]),
    fc.integer().map((n): [string, AttributeValue] => ['N', { N: String(n) }]),
    fc
      .uint8Array({ minLength: 1 })
      .map((bytes): [string, AttributeValue] => [
        'B',
        { B: Buffer.from(bytes).toString('base64') },
      ]),
  );
  fc.assert(
    fc.property(key, key, fc.boolean(), ([aType, a], [bType, b], hasRange) => {
      const table = {
        KeySchema: hasRange ? KeySchema : KeySchema.slice(0, 1),
        AttributeDefinitions: [
          { AttributeName: 'b', AttributeType: bType },
          { AttributeName: 'a', AttributeType: aType },
        ],
      } as unknown as Table;
      const expected = originals.createKey({ a, b }, table);
      expect(db.createKey({ a, b }, table)).toBe(expected);
      expect(db.createKey({ a, b }, table)).toBe(expected);
    }),
  );
});
