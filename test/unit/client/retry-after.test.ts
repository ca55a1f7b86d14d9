import { describe, expect, it } from 'vitest';
import { parseRetryAfter } from '#client/http-transport.ts';
import { T0 } from './support/run-samples.ts';

describe('parseRetryAfter', () => {
  it.each([
    [null, undefined],
    ['0', 0],
    ['120', 120_000],
    [new Date(T0 + 5_000).toUTCString(), 5_000],
    [new Date(T0 - 5_000).toUTCString(), 0],
    ['1e4', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    [' 5', undefined],
    ['99999999999', undefined],
    ['soon', undefined],
    ['Mon, nonsense', undefined],
    ['', undefined],
  ])('%j → %j', (value, expected) => {
    expect(parseRetryAfter(value, T0)).toBe(expected);
  });
});
