import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FramedRecord, RecordFramer } from '#shared/process/record-framer.ts';

const frame = (chunks: readonly (Buffer | string)[], recordBytes = 1_024): FramedRecord[] => {
  const framer = new RecordFramer(recordBytes);
  return [...chunks.flatMap((chunk) => framer.push(Buffer.from(chunk as string))), ...framer.end()];
};
const texts = (records: readonly FramedRecord[]): string[] => records.map((record) => record.text);

describe('record framer', () => {
  it('B01 keeps a record with U+2028, U+2029 and U+0085 in one piece', () => {
    const line = '{"text":"a\u2028b\u2029c\u0085d"}';
    const records = frame([`${line}\n`]);
    expect(texts(records)).toEqual([line]);
    expect(JSON.parse(records[0]!.text).text).toHaveLength(7);
  });

  it('B47 joins a character that was split across reads', () => {
    const split = [
      Buffer.from([0x63, 0x61, 0x66, 0xc3]),
      Buffer.from([0xa9, 0xe2, 0x98]),
      Buffer.from([0x95, 0x0a]),
    ];
    expect(frame(split)).toMatchObject([{ text: 'caf\u00e9\u2615', invalidUtf8: false }]);
  });

  it('B13 flags the tail without a newline, whole, half or cut inside a character', () => {
    expect(frame(['{"a":1}\n{"type":"turn.comp'])).toMatchObject([
      { text: '{"a":1}', unterminated: false },
      { text: '{"type":"turn.comp', unterminated: true, invalidUtf8: false },
    ]);
    expect(frame(['{"type":"turn.completed"}'])).toMatchObject([{ unterminated: true }]);
    expect(frame([Buffer.from('caf\u00e9').subarray(0, 4)])).toMatchObject([
      { text: 'caf\ufffd', unterminated: true, invalidUtf8: true },
    ]);
  });

  it('takes a carriage return before the newline as part of it, and no other', () => {
    expect(texts(frame(['a\r\nb\rc\n\r\n\n', 'd\r', '\n', 'e\r']))).toEqual([
      'a',
      'b\rc',
      'd',
      'e\r',
    ]);
  });

  it('flags bytes that are no UTF-8 and keeps them', () => {
    const [record] = frame([Buffer.from([0x61, 0xff, 0xfe, 0x0a])]);
    expect(record).toMatchObject({ text: 'a\ufffd\ufffd', invalidUtf8: true });
    expect(record!.bytes).toEqual(Buffer.from([0x61, 0xff, 0xfe]));
  });

  it('cuts a long record, counts the rest and goes on with the next', () => {
    const framer = new RecordFramer(4);
    expect(framer.push(Buffer.from('abcdefg\nnext\nabcd\r\nabcd\r\r\n'))).toMatchObject([
      { text: 'abcd', truncatedBytes: 3 },
      { text: 'next', truncatedBytes: 0 },
      { text: 'abcd', truncatedBytes: 0 },
      { text: 'abcd', truncatedBytes: 1 },
    ]);
    expect(framer.droppedBytes).toBe(4);
  });

  it('never cuts a character in two, whatever the limit', () => {
    const text = 'a\u00e9\u20ac\ud83d\ude00\u20ac\u00e9b';
    for (let limit = 1; limit < 20; limit += 1) {
      const [record] = frame([`${text}\n`], limit);
      expect(record!.invalidUtf8).toBe(false);
      expect(text.startsWith(record!.text)).toBe(true);
      expect(record!.bytes.length + record!.truncatedBytes).toBe(Buffer.byteLength(text));
      expect(limit - record!.bytes.length).toBeLessThan(4);
    }
  });

  it('gives the same records however the bytes are cut', () => {
    const bytes = fc
      .array(fc.constantFrom('a', '\n', '\r', '\r\n', '\u20ac', 'abcdefgh', '\ud83d\ude00'), {
        maxLength: 40,
      })
      .map((parts) => Buffer.from(parts.join('')));
    fc.assert(
      fc.property(
        bytes,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 9 }),
        (all, limit, size) => {
          const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
            all.subarray(i * size, (i + 1) * size),
          );
          const whole = frame([all], limit);
          expect(frame(pieces, limit)).toEqual(whole);
          const expected = all.toString().split('\n');
          const tail = expected.pop() ?? '';
          const lines = [...expected.map((line) => line.replace(/\r$/, '')), tail].filter(
            (line) => line !== '',
          );
          expect(whole.map((r) => r.bytes.length + r.truncatedBytes)).toEqual(
            lines.map((l) => Buffer.byteLength(l)),
          );
          whole.forEach((record, index) => {
            expect(lines[index]!.startsWith(record.text)).toBe(true);
          });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('is linear and bounded on one endless record, even byte by byte', () => {
    const framer = new RecordFramer(1_000);
    const chunk = Buffer.alloc(65_536, 'x');
    for (let index = 0; index < 800; index += 1) expect(framer.push(chunk)).toEqual([]);
    const byte = Buffer.from('y');
    for (let index = 0; index < 100_000; index += 1) framer.push(byte);
    const [record] = framer.push(Buffer.from('\n'));
    expect(record).toMatchObject({ truncatedBytes: 800 * 65_536 + 100_000 - 1_000 });
    expect(record!.text).toHaveLength(1_000);
  });

  it('refuses a limit that is none', () => {
    for (const limit of [0, -1, Number.NaN, 1.5, Number.POSITIVE_INFINITY]) {
      expect(() => new RecordFramer(limit)).toThrow(RangeError);
    }
  });
});
