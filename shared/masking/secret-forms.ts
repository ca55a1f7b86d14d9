/**
 * The byte sequences under which one secret can appear in an engine's output. A program seldom prints a
 * key as it is: it prints a JSON document, a URL, a Basic header or a hex dump that holds it.
 */

/** Longest line a base64 tool writes before it breaks it; a longer form can be cut anywhere. */
const BASE64_LINE = 60;
/** Characters of a piece of broken base64: 96 bits, so it never meets innocent text. */
const BASE64_PIECE = 16;
/** Above this a secret is a key file: its pieces would cost more memory than they are worth. */
const LONGEST_PIECED_SECRET = 1_024;
/** Every line of a PEM file is secret alone; shorter lines are framing. */
const SHORTEST_SECRET_LINE = 16;

const hexOf = (value: number, width: number): string => value.toString(16).padStart(width, '0');

function jsonForms(secret: string): string[] {
  const plain = JSON.stringify(secret).slice(1, -1);
  const unicode = (text: string, upper: boolean): string =>
    text.replace(/[\u0080-\uffff]/g, (character) => {
      const digits = hexOf(character.charCodeAt(0), 4);
      return `\\u${upper ? digits.toUpperCase() : digits}`;
    });
  // Go escapes markup characters in every JSON string, PHP every slash.
  const markup = plain.replace(/[<>&]/g, (c) => `\\u${hexOf(c.charCodeAt(0), 4)}`);
  const once = [
    plain,
    unicode(plain, false),
    unicode(plain, true),
    markup,
    plain.replaceAll('/', '\\/'),
  ];
  const twice = once.map((form) => JSON.stringify(form).slice(1, -1));
  return [...once, ...twice];
}

function urlForms(secret: string): string[] {
  const component = encodeURIComponent(secret.toWellFormed());
  const strict = component.replace(
    /[!'()*~]/g,
    (c) => `%${hexOf(c.charCodeAt(0), 2).toUpperCase()}`,
  );
  const forms = [component, strict].flatMap((form) => [form, form.replaceAll('%20', '+')]);
  const lower = forms.map((form) => form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()));
  const everyByte = [...Buffer.from(secret)].map((byte) => `%${hexOf(byte, 2)}`).join('');
  return [...forms, ...lower, everyByte, everyByte.toUpperCase()];
}

function hexForms(bytes: Buffer): string[] {
  const hex = bytes.toString('hex');
  const escaped = [...bytes].map((byte) => `\\x${hexOf(byte, 2)}`).join('');
  return [hex, hex.toUpperCase(), escaped];
}

/** Characters of the base64 text that depend on nothing but the secret, `shift` bytes into a group of three. */
function base64Core(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  const start = Math.ceil((shift * 8) / 6);
  const end = Math.floor(((shift + bytes.length) * 8) / 6);
  return text.slice(start, end);
}

function base64Forms(bytes: Buffer): string[] {
  const cores = [0, 1, 2].map((shift) => base64Core(bytes, shift));
  const forms = cores.flatMap((core) => {
    if (core.length <= BASE64_LINE || bytes.length > LONGEST_PIECED_SECRET) return [core];
    const pieces = [core];
    for (let at = 0; at + BASE64_PIECE <= core.length; at += 1) {
      pieces.push(core.slice(at, at + BASE64_PIECE));
    }
    return pieces;
  });
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

function htmlForms(secret: string): string[] {
  const basic = secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
  return [basic, basic.replaceAll("'", '&#39;'), basic.replaceAll("'", '&#x27;')];
}

/**
 * All forms of `secret`, without repeats, none shorter than `minLength` bytes. A secret shorter than that
 * has no form: masking it would destroy ordinary text.
 */
export function secretForms(secret: string, minLength: number): Buffer[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < minLength) return [];
  const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_SECRET_LINE);
  const forms = [
    secret,
    ...lines,
    ...jsonForms(secret),
    ...urlForms(secret),
    ...hexForms(bytes),
    ...base64Forms(bytes),
    ...htmlForms(secret),
  ];
  return [...new Set(forms)]
    .map((form) => Buffer.from(form))
    .filter((form) => form.length >= minLength);
}
