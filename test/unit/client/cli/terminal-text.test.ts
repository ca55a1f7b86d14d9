import { describe, expect, it } from 'vitest';
import { jsonLine, plainLine, plainText } from '#client/cli/terminal-text.ts';

const HOSTILE = [
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['clearing the screen', 'a\u001b[2J\u001b[Hb', 'ab'],
  ['a window title', '\u001b]0;owned\u0007x', 'x'],
  ['a link', '\u001b]8;;http://evil\u001b\\click\u001b]8;;\u001b\\', 'click'],
  ['the clipboard', '\u001b]52;c;cm0gLXJm\u0007x', 'x'],
  ['an 8-bit escape sequence', 'a\u009b31mb', 'ab'],
  ['cursor movement without escapes', 'abc\b\b\u000bx\u000c', 'abcx'],
  ['carriage returns that overwrite', 'harmless\rEVIL', 'harmlessEVIL'],
  ['NUL, bell and DEL', 'a\u0000b\u0007c\u007fd', 'abcd'],
  ['other C1 controls', 'a\u0085b\u0090c\u009fd', 'abcd'],
  ['reordering', 'user\u202enimda\u202c \u2066x\u2069', 'usernimda x'],
  ['line separators', 'a\u2028b\u2029c', 'abc'],
] as const;

describe('plainText', () => {
  it.each(HOSTILE)('removes %s', (_name, text) => {
    const plain = plainText(text);
    expect(plain).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    expect(plain).not.toMatch(/[\u2028\u2029\u202a-\u202e\u2066-\u2069]/);
  });

  it.each(HOSTILE)('leaves the words of %s', (_name, text, expected) => {
    expect(plainText(text)).toBe(expected);
  });

  it('leaves no escape sequence that only appears once another one is removed', () => {
    const nested = '\u001b\u001b[31m[2J \u001b[\u001b[0m2J';
    expect(plainText(nested)).not.toContain('\u001b');
  });

  it('keeps tabs, line feeds and every script', () => {
    const text = 'a\tb\r\nc\n日本語 عربى 👩‍👩‍👧 é';
    expect(plainText(text)).toBe(text.replace('\r', ''));
  });
});

describe('plainLine', () => {
  it('is one line of bounded length, cut between characters', () => {
    expect(plainLine('  a\n\tb  c\u001b[1m ')).toBe('a b c');
    expect(plainLine('👍'.repeat(10), 4)).toBe('👍👍👍…');
    expect(plainLine('abcd', 4)).toBe('abcd');
    expect([...plainLine('x'.repeat(5_000))]).toHaveLength(200);
  });
});

describe('jsonLine', () => {
  it('is one line without anything a terminal acts on, of the same value', () => {
    const value = { text: 'a\n\u001b[2J\u009b31m\u2028\u007f\r' };
    const line = jsonLine(value);
    expect(line).toMatch(/^[\u0020-\u007e]*$/);
    expect(JSON.parse(line)).toEqual(value);
  });
});
