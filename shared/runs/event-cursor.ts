import { z } from 'zod';
import { PlatformError } from '#shared/contracts/index.ts';

/** A reader's place in a log: everything up to and with event `offset` of page `index` was read (offset from 0). */
export interface EventCursor {
  readonly index: number;
  readonly offset: number;
}

export const LOG_BEGINNING: EventCursor = { index: 0, offset: 0 };

const cursorSchema = z.tuple([
  z.number().int().min(0).max(99_999_999),
  z.number().int().min(0).max(100_000),
]);

export function encodeEventCursor(cursor: EventCursor): string {
  return Buffer.from(JSON.stringify([cursor.index, cursor.offset])).toString('base64url');
}

/** @throws PlatformError `invalid_cursor` */
export function decodeEventCursor(text: string): EventCursor {
  try {
    const [index, offset] = cursorSchema.parse(
      JSON.parse(Buffer.from(text, 'base64url').toString('utf8')),
    );
    return { index, offset };
  } catch (cause) {
    throw new PlatformError('invalid_cursor', 'this cursor was not made by this API', {
      field: 'cursor',
      remedy:
        'use a nextCursor or an SSE id of this run, unchanged; leave it out to read from the start',
      cause,
    });
  }
}
