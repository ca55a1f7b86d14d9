import type { ExecutionError } from '#shared/contracts/index.ts';

/** A head stays within one write unit whatever is said of its run, so what people wrote is cut short on it. */
const MAX_REASON_BYTES = 80;
const MAX_MESSAGE_BYTES = 100;

/** What a head keeps of an error: enough for a list and for programs; the final page has all of it. */
export function boundedError({ class: errorClass, code, message, sideEffects }: ExecutionError) {
  return { class: errorClass, code, message: cut(message, MAX_MESSAGE_BYTES), sideEffects };
}

export function boundedReason(reason: string): string {
  return cut(reason, MAX_REASON_BYTES);
}

const MARK = '…';

/** At most `bytes` of UTF-8, cut between characters, with a mark where something is missing. */
function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  let kept = '';
  let room = bytes - Buffer.byteLength(MARK);
  for (const character of text) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    kept += character;
  }
  return kept + MARK;
}
