import { stripVTControlCharacters } from 'node:util';
import type { z } from 'zod';

export type Json = z.infer<ReturnType<typeof z.json>>;

/** Longest text in one event, in UTF-8 bytes. An event must fit into a page of the log with room to spare. */
export const MAX_EVENT_TEXT_BYTES = 64 * 1024;
/** Longest raw output in a diagnostic, in UTF-8 bytes. */
export const MAX_RAW_BYTES = 4 * 1024;
/** Longest single string and largest whole payload of a native event, in UTF-8 bytes of its JSON. */
export const MAX_NATIVE_STRING_BYTES = 16 * 1024;
export const MAX_NATIVE_PAYLOAD_BYTES = 64 * 1024;
const MAX_SUMMARY_CHARACTERS = 200;

export interface BoundedText {
  readonly text: string;
  /** Absent when nothing was cut off. */
  readonly truncatedBytes?: number;
}

/** Cuts text to `maxBytes` of UTF-8, never through a character. */
export function boundText(text: string, maxBytes: number): BoundedText {
  // A UTF-16 unit is at most three bytes: most texts need no counting.
  if (text.length * 3 <= maxBytes) return { text };
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return { text };
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return { text: bytes.toString('utf8', 0, end), truncatedBytes: bytes.length - end };
}

/** One line for a timeline. */
export function summaryLine(text: string): string {
  const [line = ''] = text.trim().split('\n', 1);
  const characters = [...line];
  const shortened = characters.length > MAX_SUMMARY_CHARACTERS;
  const multiline = line.length < text.trim().length;
  const kept = shortened ? characters.slice(0, MAX_SUMMARY_CHARACTERS - 1).join('') : line;
  return shortened || multiline ? `${kept}…` : kept;
}

/**
 * A native payload as it is, unless it is too large: then long strings are cut, and when that is not enough the
 * payload is replaced by its size. `size` is the length of the record that the payload was parsed from.
 */
export function boundPayload(payload: Json, size: number): Json {
  if (size * 3 <= MAX_NATIVE_PAYLOAD_BYTES) return payload;
  const cut = cutStrings(payload);
  const bytes = Buffer.byteLength(JSON.stringify(cut), 'utf8');
  return bytes <= MAX_NATIVE_PAYLOAD_BYTES ? cut : { omitted: 'payload too large', bytes };
}

function cutStrings(value: Json): Json {
  if (typeof value === 'string') {
    const { text, truncatedBytes } = boundText(value, MAX_NATIVE_STRING_BYTES);
    return truncatedBytes === undefined ? text : `${text}… (${truncatedBytes} bytes cut)`;
  }
  if (Array.isArray(value)) return value.map(cutStrings);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, cutStrings(inner)]));
}

/** Text of a terminal without its colours and cursor movements. */
export const stripAnsi = stripVTControlCharacters;

/** The last `maxBytes` of a text, for output whose end says what went wrong. */
export function boundTail(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.toString('utf8', start);
}

/** Deepest nesting of a native record: deeper ones are an attack on whoever walks them. */
export const MAX_NESTING = 64;

export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}
