import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cursorsOf } from '#shared/runs/index.ts';

const run = { tenantId: 'acme', runId: 'run_01JDZZZZZZZZZZZZZZZZZZZZZZ' };
const place = fc.record({
  index: fc.integer({ min: 0, max: 99_999_999 }),
  offset: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
});

describe('a reader’s cursor', () => {
  it('TRM-7 names any place of a log, and is safe in a header, a URL and an SSE field', () => {
    fc.assert(
      fc.property(place, (cursor) => {
        const text = cursorsOf(run).encode(cursor);
        expect(text).toMatch(/^[A-Za-z0-9_-]{20}$/);
        expect(cursorsOf({ ...run }).decode(text)).toEqual(cursor);
      }),
    );
  });

  it('stays what it is: one that was kept for the whole retention period is still good', () => {
    expect(cursorsOf(run).encode({ index: 7, offset: 3 })).toBe('AZ93cAQwpQAAAAcAAAAD');
  });

  it.each([
    ['run', { ...run, runId: 'run_01JDZZZZZZZZZZZZZZZZZZZZZY' }],
    ['tenant', { ...run, tenantId: 'acme2' }],
    ['pair that reads alike', { tenantId: 'acmerun_01', runId: 'JDZZZZZZZZZZZZZZZZZZZZZZ' }],
  ])('of another %s is refused, and the error says so', (_what, other) => {
    const text = cursorsOf(other).encode({ index: 7, offset: 3 });
    expect(() => cursorsOf(run).decode(text, 'Last-Event-ID')).toThrowError(
      expect.objectContaining({
        code: 'invalid_cursor',
        record: expect.objectContaining({
          message: 'this cursor is of another run',
          field: 'Last-Event-ID',
          remedy: expect.stringContaining('of this run'),
        }),
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['a number', '5'],
    ['another version', `C${cursorsOf(run).encode({ index: 1, offset: 0 }).slice(1)}`],
    ['one that was cut', cursorsOf(run).encode({ index: 1, offset: 0 }).slice(0, 19)],
    ['one with padding', `${cursorsOf(run).encode({ index: 1, offset: 0 })}=`],
    ['a page that no log has', cursorsOf(run).encode({ index: 100_000_000, offset: 0 })],
    ['the cursor of a list of runs', Buffer.from('["a","b","c","d"]').toString('base64url')],
  ])('that is %s is refused', (_what, text) => {
    expect(() => cursorsOf(run).decode(text)).toThrowError(
      expect.objectContaining({ code: 'invalid_cursor' }),
    );
  });

  it('never throws anything else, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        let fault: unknown;
        try {
          cursorsOf(run).decode(text);
        } catch (error) {
          fault = error;
        }
        expect(fault).toMatchObject({ code: 'invalid_cursor' });
      }),
    );
  });
});
