import { describe, expect, it } from 'vitest';
import { durationText, parseCount, parseDuration } from '#client/cli/duration.ts';
import { MAX_TIMEOUT_MS } from '#shared/contracts/index.ts';

const range = { min: 1_000, max: MAX_TIMEOUT_MS };
/** What lenient readers take for a number (B157), Arabic-Indic digits included. */
const OTHER_CLOTHES = [
  ...['1e4', '12px', '007', '5000abc', '0x10', '1.5', ' 12 ', '', '-1', '1_000', '١٢', '+5'],
  ...['1e400', 'NaN', 'Infinity', '12\n', '１２', '1,000', '[60]', 'true', 'null'],
];

describe('parseDuration', () => {
  it.each([
    ['1s', 1_000],
    ['90s', 90_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1500ms', 1_500],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text, range)).toBe(ms);
  });

  it.each([...OTHER_CLOTHES, '60', '0', '0s', '01s', '1M', '1 s', '1h30m', '10min', 's', '1.5h'])(
    'B157 refuses %j',
    (text) => {
      expect(parseDuration(text, range)).toBeUndefined();
    },
  );

  it.each(OTHER_CLOTHES)('B157 refuses %j with a unit behind it', (text) => {
    expect(parseDuration(`${text}s`, range)).toBeUndefined();
  });

  it('B158 refuses what is outside the range, a timer overflow among it', () => {
    expect(parseDuration('999ms', range)).toBeUndefined();
    expect(parseDuration('25d', range)).toBeUndefined();
    expect(parseDuration('2147483648ms', range)).toBeUndefined();
    expect(parseDuration('999999999999999d', range)).toBeUndefined();
    expect(parseDuration('24h', range)).toBe(MAX_TIMEOUT_MS);
  });
});

describe('parseCount', () => {
  it('reads plain decimal integers in range', () => {
    expect(parseCount('0', { min: 0, max: 5 })).toBe(0);
    expect(parseCount('20', { min: 1, max: 1_000 })).toBe(20);
    expect(parseCount('1001', { min: 1, max: 1_000 })).toBeUndefined();
  });

  it.each(OTHER_CLOTHES)('B157 refuses %j', (text) => {
    expect(parseCount(text, { min: 0, max: 100_000 })).toBeUndefined();
  });
});

describe('durationText', () => {
  it('says it in the largest unit that is exact, as it may be given back', () => {
    for (const text of ['1s', '90s', '10m', '2h', '1d', '1500ms']) {
      expect(durationText(parseDuration(text, range) ?? 0)).toBe(text);
    }
  });
});
