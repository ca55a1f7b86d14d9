import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NewEvent, platformEvent } from '#shared/contracts/index.ts';
import { decodeEvents, encodeEvents } from '#shared/runs/log-page.ts';
import { NOON, noticeEvent } from '#test/support/run-builders.ts';

/** Bytes of a page item without its body. */
const BESIDES = 220;

const timestamp = fc
  .integer({ min: 0, max: 4_102_444_800_000 })
  .map((time) => new Date(time).toISOString());
const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
const session = fc.option(fc.constantFrom('s-1', 's-2'), { nil: null });

/** Deltas of two messages and two sessions, among other events, some of them almost deltas. */
const event: fc.Arbitrary<NewEvent> = fc
  .oneof(
    { weight: 5, arbitrary: fc.tuple(fc.constantFrom('m1', 'm2'), text, timestamp, session) },
    { weight: 1, arbitrary: fc.tuple(fc.constant(undefined), text, timestamp, session) },
  )
  .map(([messageId, part, time, engineSessionId]) =>
    messageId === undefined
      ? noticeEvent(part, time)
      : platformEvent(
          'message.delta',
          { messageId, text: part },
          { timestamp: time, engineSessionId },
        ),
  );

describe('a page of events', () => {
  it('comes back as it was, whatever is in it', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        expect(decodeEvents(encodeEvents(events, BESIDES))).toEqual(
          JSON.parse(JSON.stringify(events)),
        );
      }),
    );
  });

  it('keeps deltas apart whose halves of a character meet', () => {
    const deltas = ['\ud83d', '\ude00', ''].map((part) =>
      platformEvent('message.delta', { messageId: 'm', text: part }, { timestamp: NOON }),
    );
    expect(decodeEvents(encodeEvents(deltas, BESIDES))).toEqual(deltas);
  });

  it('leaves alone what is a delta in name only', () => {
    const delta = platformEvent(
      'message.delta',
      { messageId: 'm', text: 'a' },
      { timestamp: NOON },
    );
    const odd = [
      { ...delta, payload: { messageId: 'm', text: 'a', more: 1 } },
      { ...delta, payload: null },
      { ...delta, timestamp: '2026-11-30T12:00:00Z' },
      { ...delta, timestamp: 'no time' },
      // A preview, whose text is a blob.
      { ...delta, blob: { sha256: '0'.repeat(64), bytes: 300_000 } },
    ] as NewEvent[];
    expect(decodeEvents(encodeEvents([delta, ...odd, delta], BESIDES))).toEqual([
      delta,
      ...odd,
      delta,
    ]);
  });

  it('is compressed only when that saves a write unit', () => {
    const words = 'the tests of the ledger pass again and again ';
    expect(encodeEvents([noticeEvent('short')], BESIDES)).toBeTypeOf('string');
    expect(encodeEvents([noticeEvent(words.repeat(100))], BESIDES)).toBeInstanceOf(Uint8Array);
  });

  it('that was stored before there was a dictionary is still read', () => {
    const events = [noticeEvent('old '.repeat(1_000)), noticeEvent('page')];
    const json = JSON.stringify(events);
    expect(decodeEvents(json)).toEqual(events);
    expect(decodeEvents(deflateRawSync(json))).toEqual(events);
  });

  it('is read by the dictionary it was written with: the dictionary never changes', () => {
    const stored =
      'BkPzCY5MhtdDyIGM6RtDXWODEEMjAr7BiAtoGgYNRCIyNaIo9oRvzIE3t2ENR8hYtJ7CqJJRJaNKRpWMKhlVMqpkVImCS35eqp5SbW0sAA==';
    expect(decodeEvents(Buffer.from(stored, 'base64'))).toEqual([
      noticeEvent(`${'I checked the tests of the ledger. '.repeat(60)}Done.`),
    ]);
  });
});
