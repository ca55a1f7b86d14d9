import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createMasker, type Masker } from '#shared/masking/index.ts';
import { secretForms } from '#shared/masking/secret-forms.ts';

const PEM = [
  '-----BEGIN KEY-----',
  'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
  'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj',
  '-----END KEY-----',
].join('\n');
const SECRETS = [
  'sk-test-api03-AbC/dEf+123==xyz',
  'p@ss "w\u00f6rd" & <more>',
  PEM,
  'ghx_0123456789abcdef',
];

const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  raw: (s) => s,
  'json document': (s) => JSON.stringify({ key: s }),
  'json in json': (s) => JSON.stringify(JSON.stringify({ key: s })),
  'url component': encodeURIComponent,
  'form body': (s) => new URLSearchParams({ token: s }).toString(),
  'basic header': (s) => Buffer.from(`user:${s}`).toString('base64'),
  'base64 in the middle': (s) => Buffer.from(`xy${s}z`).toString('base64'),
  base64url: (s) => Buffer.from(`x${s}`).toString('base64url'),
  hex: (s) => Buffer.from(s).toString('hex'),
  'upper hex': (s) => Buffer.from(s).toString('hex').toUpperCase(),
  'ascii json': (s) =>
    JSON.stringify(s).replace(
      /[\u0080-\uffff]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  'go json': (s) =>
    JSON.stringify(s).replace(/[<>&]/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`),
  html: (s) =>
    s
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;'),
};

function maskInPieces(masker: Masker, bytes: Buffer, cuts: readonly number[]): string {
  const stream = masker.stream();
  const out: Buffer[] = [];
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    out.push(...stream.push(bytes.subarray(from, cut)));
    from = cut;
  }
  return Buffer.concat([...out, ...stream.end()]).toString();
}

/** Independent of the masker's own forms: decodes what looks encoded and looks for the secret inside. */
function reveals(output: string, secret: string): boolean {
  const parts = secret.split('\n').filter((line) => line.length >= 16);
  const needles = parts.length > 1 ? parts : [secret];
  const texts = [output];
  for (const word of output.match(/[A-Za-z0-9+/_-]{8,}/g) ?? []) {
    for (let skip = 0; skip < 4; skip += 1) {
      texts.push(Buffer.from(word.slice(skip), 'base64').toString('latin1'));
    }
  }
  for (const word of output.match(/[0-9a-fA-F]{12,}/g) ?? [])
    texts.push(Buffer.from(word, 'hex').toString());
  texts.push(
    output.replace(/%[0-9a-fA-F]{2}/g, (c) => String.fromCharCode(Number.parseInt(c.slice(1), 16))),
  );
  texts.push(
    output.replace(/\\u([0-9a-f]{4})/gi, (_, d) => String.fromCharCode(Number.parseInt(d, 16))),
  );
  return needles.some((needle) =>
    texts.some(
      (text) => text.includes(needle) || text.includes(Buffer.from(needle).toString('latin1')),
    ),
  );
}

describe('mask stream', () => {
  const masker = createMasker(SECRETS);

  it.each(Object.keys(ENCODINGS))('hides every secret as %s, cut at any byte', (name) => {
    const encode = ENCODINGS[name] as (secret: string) => string;
    for (const secret of SECRETS) {
      const bytes = Buffer.from(`before ${encode(secret)} after\n`);
      const whole = maskInPieces(masker, bytes, []);
      expect(reveals(bytes.toString(), secret) || !/raw|base|hex/.test(name)).toBe(true);
      expect(reveals(whole, secret), whole).toBe(false);
      expect(whole.startsWith('before ')).toBe(true);
      expect(whole.endsWith(' after\n')).toBe(true);
      for (let cut = 0; cut <= bytes.length; cut += 1) {
        expect(maskInPieces(masker, bytes, [cut])).toBe(whole);
      }
      expect(maskInPieces(masker, bytes, [...bytes.keys()])).toBe(whole);
    }
  });

  it('hides a key whose base64 was broken into lines at any offset', () => {
    const secret = `sk-test-${'Qm9yaW5nIGtleQ-7x'.repeat(7)}`;
    const long = createMasker([secret]);
    for (let lead = 0; lead < 80; lead += 1) {
      const text = Buffer.from(`${'.'.repeat(lead)}${secret} tail of the file`).toString('base64');
      const lines = text.match(/.{1,76}/g) ?? [];
      const masked = long.maskText(lines.join('\n'));
      const decoded = masked
        .split('\n')
        .flatMap((line) =>
          [0, 1, 2, 3].map((skip) => Buffer.from(line.slice(skip), 'base64').toString('latin1')),
        );
      const longest = (part: string): number => {
        for (let size = part.length; size > 0; size -= 1) {
          for (let from = 0; from + size <= secret.length; from += 1) {
            if (part.includes(secret.slice(from, from + size))) return size;
          }
        }
        return 0;
      };
      // What is left of the key at a line's edge is shorter than one piece.
      expect(
        Math.max(...decoded.map((part) => (part.length > 11 ? longest(part) : 0))),
      ).toBeLessThan(17);
    }
  });

  it('equals a naive search and merge on any text and any cut', () => {
    const alphabet = ['ab', 'abc', 'bcab', 'cabcab', 'aab'].map((s) => s.repeat(3));
    const small = createMasker(alphabet, { minLength: 1 });
    const forms = alphabet.flatMap((secret) => secretForms(secret, 1));
    const naive = (bytes: Buffer): string => {
      const spans: [number, number][] = [];
      for (const form of forms) {
        for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + 1)) {
          spans.push([at, at + form.length]);
        }
      }
      spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
      let out = '';
      let at = 0;
      let end = -1;
      for (const [from, to] of spans) {
        if (from >= at && from >= end) out += `${bytes.toString('latin1', at, from)}***`;
        end = Math.max(end, to);
        at = Math.max(at, to);
      }
      return out + bytes.toString('latin1', at);
    };
    const text = fc.array(
      fc.constantFrom('a', 'b', 'c', 'abc', 'abab', 'ababab', 'cabcabcab', 'x'),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(text, fc.array(fc.nat(120), { maxLength: 12 }), (words, cuts) => {
        const bytes = Buffer.from(words.join(''));
        const expected = naive(bytes);
        expect(small.maskBuffer(bytes).toString('latin1')).toBe(expected);
        const stream = small.stream();
        const points = cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b);
        const out: Buffer[] = [];
        let from = 0;
        for (const cut of [...points, bytes.length]) {
          out.push(...stream.push(bytes.subarray(from, cut)));
          from = cut;
        }
        // A stream may also mask a tail that is the first half of a secret; the naive search does not.
        const streamed = Buffer.concat(out).toString('latin1');
        expect(expected.startsWith(streamed)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps fuzzed secrets out of fuzzed text', () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 40, unit: 'grapheme' })
      .filter((s) => s.trim().length >= 8);
    fc.assert(
      fc.property(
        fc.uniqueArray(secret, { minLength: 1, maxLength: 4 }),
        fc.array(fc.oneof(fc.constant('plain text '), fc.nat(3)), { maxLength: 15 }),
        fc.integer({ min: 1, max: 9 }),
        (secrets, parts, size) => {
          const text = parts
            .map((p) => (typeof p === 'string' ? p : secrets[p % secrets.length]))
            .join('');
          const bytes = Buffer.from(text);
          const cuts = Array.from(
            { length: Math.floor(bytes.length / size) },
            (_, i) => (i + 1) * size,
          );
          const masked = maskInPieces(
            createMasker(secrets, { replacement: '\u0000' }),
            bytes,
            cuts,
          );
          for (const s of secrets) if (s.isWellFormed()) expect(masked.includes(s)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('holds back only what may be a secret', () => {
    const stream = createMasker(['secret-value']).stream();
    const push = (text: string): string => Buffer.concat(stream.push(Buffer.from(text))).toString();
    expect(push('hello ')).toBe('hello ');
    expect(push('a secr')).toBe('a ');
    expect(push('ecy')).toBe('secrecy');
    expect(push('secret-val')).toBe('');
    expect(push('ue!')).toBe('***!');
  });

  it('does not let a shorter match give away the beginning of a longer one', () => {
    const overlapping = createMasker(['aaSECRETbbSECRETcc', 'SECRETbb', 'SECRETcc'], {
      minLength: 6,
    });
    expect(overlapping.maskText('..aaSECRETbbSECRETcc..')).toBe('..***..');
    expect(overlapping.maskText('..aSECRETbbSECRETcc..')).toBe('..a******..');
  });

  it('masks the tail of a stream that ends inside a secret, not the tail of a whole text', () => {
    const masker16 = createMasker(['0123456789abcdef']);
    const ends = (text: string): string => maskInPieces(masker16, Buffer.from(text), []);
    expect(ends('key=0123456789abc')).toBe('key=***');
    expect(ends('key=01234')).toBe('key=01234');
    expect(masker16.maskText('key=0123456789abc')).toBe('key=0123456789abc');
  });

  it('passes bytes through untouched when there is no secret', () => {
    const stream = createMasker([]).stream();
    const chunk = Buffer.from([0, 255, 10, 195]);
    expect(stream.push(chunk)[0]).toBe(chunk);
    expect(stream.push(Buffer.alloc(0))).toEqual([]);
    expect(stream.end()).toEqual([]);
  });

  it('leaves bytes that are no text as they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(masker.maskBuffer(Buffer.from(bytes)).equals(Buffer.from(bytes))).toBe(true);
      }),
    );
  });
});
