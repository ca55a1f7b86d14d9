/** What an element holds: text, elements by name, or nothing (left out when undefined). */
export type XmlContent = string | number | boolean | undefined | XmlElements;

export interface XmlElements {
  readonly [name: string]: XmlContent | readonly XmlContent[];
}

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';

/** Renders a document; a list repeats its element. */
export function xmlDocument(root: string, content: XmlElements, namespace = true): string {
  const attribute = namespace ? ` xmlns="${NAMESPACE}"` : '';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}${attribute}>${inner(content)}</${root}>`;
}

function inner(content: XmlContent): string {
  if (typeof content !== 'object') return escapeText(String(content ?? ''));
  return Object.entries(content)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value])
        .filter((each) => each !== undefined)
        .map((each) => `<${name}>${inner(each)}</${name}>`),
    )
    .join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** Control characters become references, so that a key with a line break comes back as it was. */
function escapeText(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    /[&<>"\u0000-\u001f\u007f]/g,
    (character) => ENTITIES[character] ?? `&#x${character.charCodeAt(0).toString(16)};`,
  );
}

/** The texts of all elements of a name, wherever they are. Good for the flat requests S3 gets, not for XML at large. */
export function textsOf(xml: string, name: string): readonly string[] {
  const pattern = new RegExp(`<${name}>([^<]*)</${name}>`, 'g');
  return Array.from(xml.matchAll(pattern), ([, text = '']) => unescapeText(text));
}

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
};

function unescapeText(text: string): string {
  return text.replace(/&(#x[\da-f]+|#\d+|\w+);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return NAMED[name] ?? whole;
    const hex = /^#x/i.test(name);
    return String.fromCodePoint(Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10));
  });
}
