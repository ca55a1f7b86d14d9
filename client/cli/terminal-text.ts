import { stripVTControlCharacters } from 'node:util';

/** C0 without tab and line feed, DEL, C1 (U+009B alone starts an escape sequence on some terminals). */
const CONTROLS = /[\p{Cc}--[\t\n]]/gv;
/** Marks that reorder what follows, so that a line reads differently from what it says; and invisible line ends. */
const REORDERING = /[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/**
 * Text of an engine, a tool or a server, made harmless for a terminal: it can neither move the cursor, set the title,
 * colour or clear anything, write to the clipboard, nor show its characters in another order. Tabs and line feeds stay.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text.replaceAll('\r\n', '\n'))
    .replaceAll(CONTROLS, '')
    .replaceAll(REORDERING, '');
}

/** As {@link plainText}, on one line of at most `maxChars` characters. */
export function plainLine(text: string, maxChars = 200): string {
  const line = plainText(text).replaceAll(/\s+/g, ' ').trim();
  const characters = [...line.slice(0, (maxChars + 1) * 2)];
  return characters.length > maxChars ? `${characters.slice(0, maxChars - 1).join('')}…` : line;
}

/** One line of JSON. What JSON leaves raw but a terminal or a line reader may act on is escaped: the value is the same. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
