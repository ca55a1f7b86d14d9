import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundPayload,
  boundTail,
  boundText,
  isDeeperThan,
  type Json,
  MAX_NATIVE_PAYLOAD_BYTES,
  summaryLine,
} from '#shared/engines/bounds.ts';

const anyText = fc.string({ unit: 'grapheme', maxLength: 200 });

describe('bounds of what an engine says', () => {
  it('a cut text is a beginning of the text, within its bytes, in whole characters', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 300 }), (text, limit) => {
        const bounded = boundText(text, limit);
        const bytes = Buffer.byteLength(bounded.text);
        expect(bytes).toBeLessThanOrEqual(Math.max(limit, 0));
        expect(text.startsWith(bounded.text)).toBe(true);
        expect(bytes + (bounded.truncatedBytes ?? 0)).toBe(Buffer.byteLength(text));
      }),
    );
  });

  it('a cut tail is an end of the text, within its bytes', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 300 }), (text, limit) => {
        const tail = boundTail(text, limit);
        expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(limit);
        expect(text.endsWith(tail)).toBe(true);
      }),
    );
  });

  it.each([
    ['one line', 'one line'],
    ['  first\nsecond\n', 'first…'],
    ['x'.repeat(300), `${'x'.repeat(199)}…`],
    ['', ''],
  ])('%# a summary is one line', (text, expected) => {
    expect(summaryLine(text)).toBe(expected);
  });

  it('a payload within its limit is passed on as it is', () => {
    const payload: Json = { a: ['€', 1, null], b: { c: true } };
    expect(boundPayload(payload, JSON.stringify(payload).length)).toBe(payload);
  });

  it('long strings of a payload are cut, and what is still too large is replaced', () => {
    const long: Json = { item: { id: 'i1', output: 'x'.repeat(100_000) } };
    expect(boundPayload(long, 100_050)).toEqual({
      item: { id: 'i1', output: `${'x'.repeat(16_384)}… (83616 bytes cut)` },
    });
    const many: Json = { items: Array(100).fill('x'.repeat(10_000)) };
    const bounded = boundPayload(many, 1_000_000);
    expect(Buffer.byteLength(JSON.stringify(bounded))).toBeLessThan(MAX_NATIVE_PAYLOAD_BYTES);
    expect(bounded).toMatchObject({ omitted: 'payload too large' });
  });

  it('nesting is counted', () => {
    expect(isDeeperThan([[1]], 2)).toBe(false);
    expect(isDeeperThan([[[1]]], 2)).toBe(true);
  });
});
