import { createHash } from 'node:crypto';
import { PlatformError } from '#shared/contracts/index.ts';
import type { RunRef } from './run-head.ts';

/** A reader's place in a log: everything up to and with event `offset` of page `index` was read (offset from 0). */
export interface EventCursor {
  readonly index: number;
  readonly offset: number;
}

export const LOG_BEGINNING: EventCursor = { index: 0, offset: 0 };

export interface EventCursors {
  encode(cursor: EventCursor): string;
  /**
   * `field` names in the error where the text came from.
   * @throws PlatformError `invalid_cursor`
   */
  decode(text: string, field?: string): EventCursor;
}

const VERSION = 1;
const MAX_INDEX = 99_999_999;
const RUN_BYTES = 6;
const INDEX_AT = 1 + RUN_BYTES;
const OFFSET_AT = INDEX_AT + 4;
const BYTES = OFFSET_AT + 4;
const TEXT = /^[A-Za-z0-9_-]{20}$/;

/**
 * The cursors of one run's readers: version, fingerprint of the run, page, offset; 20 characters, the same for ever.
 *
 * They are bound to their run but not signed. A signature protects a decision that was made before; a reader's cursor
 * decides nothing, for the tenant comes from the token, the run from the path, and all of that run's log may be read
 * from anywhere. What a key would add is a secret in each reading function and cursors that die when it is changed.
 * The fingerprint is there for people: a cursor of another run is refused instead of skipping events in this one.
 */
export function cursorsOf(ref: RunRef): EventCursors {
  const run = fingerprint(ref);
  return {
    encode({ index, offset }) {
      const bytes = Buffer.alloc(BYTES);
      bytes.writeUInt8(VERSION, 0);
      run.copy(bytes, 1);
      bytes.writeUInt32BE(index, INDEX_AT);
      bytes.writeUInt32BE(offset, OFFSET_AT);
      return bytes.toString('base64url');
    },
    decode(text, field = 'cursor') {
      const bytes = TEXT.test(text) ? Buffer.from(text, 'base64url') : undefined;
      const index = bytes?.readUInt32BE(INDEX_AT) ?? 0;
      if (bytes?.[0] !== VERSION || index > MAX_INDEX) {
        throw invalidCursor('this cursor was not made by this API', field);
      }
      if (!bytes.subarray(1, INDEX_AT).equals(run)) {
        throw invalidCursor('this cursor is of another run', field);
      }
      return { index, offset: bytes.readUInt32BE(OFFSET_AT) };
    },
  };
}

export function invalidCursor(message: string, field: string): PlatformError {
  return new PlatformError('invalid_cursor', message, {
    field,
    remedy:
      'use a nextCursor or an SSE id of this run, unchanged; leave it out to read from the start',
  });
}

function fingerprint({ tenantId, runId }: RunRef): Buffer {
  return createHash('sha256')
    .update(`event-cursor\0${tenantId}\0${runId}`)
    .digest()
    .subarray(0, RUN_BYTES);
}
