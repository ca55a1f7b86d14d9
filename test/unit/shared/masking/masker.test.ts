import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMasker } from '#shared/masking/index.ts';
import { secretForms } from '#shared/masking/secret-forms.ts';

describe('masker', () => {
  const masker = createMasker(['hunter2-hunter2', '12345678']);

  it('masks text and gives text without secrets back as it is', () => {
    expect(masker.maskText('a hunter2-hunter2 b')).toBe('a *** b');
    const lone = 'broken \ud800 surrogate';
    expect(masker.maskText(lone)).toBe(lone);
  });

  it('masks strings, keys and numbers of a JSON value and leaves the input alone', () => {
    const input = {
      list: ['hunter2-hunter2', 1, null, true, { deep: 'x hunter2-hunter2' }],
      'hunter2-hunter2': 1,
      '12345678': 2,
      pin: 12345678,
    };
    const before = structuredClone(input);
    expect(masker.maskJson(input)).toEqual({
      list: ['***', 1, null, true, { deep: 'x ***' }],
      '***': 2,
      '***#2': 1,
      pin: '***',
    });
    expect(input).toEqual(before);
  });

  it('keeps an own key named __proto__ a plain key', () => {
    const masked = masker.maskJson(
      JSON.parse('{"__proto__":{"admin":true},"a":"hunter2-hunter2"}'),
    );
    expect(Object.getPrototypeOf(masked)).toBe(Object.prototype);
    expect(JSON.stringify(masked)).toBe('{"__proto__":{"admin":true},"a":"***"}');
  });

  it('masks a value nested deeper than the stack', () => {
    let nested: unknown = 'hunter2-hunter2';
    for (let level = 0; level < 200_000; level += 1) nested = [nested];
    let masked = masker.maskJson(nested);
    while (Array.isArray(masked)) masked = masked[0];
    expect(masked).toBe('***');
  });

  it('gives any JSON value without secrets back equal', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value));
        expect(JSON.stringify(masker.maskJson(plain))).toBe(JSON.stringify(plain));
      }),
    );
  });

  it('says how many secrets were too short to mask', () => {
    const short = createMasker(['abc', 'abc', 'long enough']);
    expect(short.ignored).toBe(1);
    expect(short.maskText('abc long enough')).toBe('abc ***');
    expect(createMasker(['abc']).ignored).toBe(1);
    expect(createMasker([]).maskJson({ a: 'abc' })).toEqual({ a: 'abc' });
  });

  it('uses the replacement it is given', () => {
    expect(
      createMasker(['hunter2-hunter2'], { replacement: '[key]' }).maskText('hunter2-hunter2'),
    ).toBe('[key]');
  });

  it('makes no form that is shorter than the limit', () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 30 }),
        fc.integer({ min: 1, max: 12 }),
        (secret, limit) => {
          for (const form of secretForms(secret, limit))
            expect(form.length).toBeGreaterThanOrEqual(limit);
        },
      ),
    );
  });
});
