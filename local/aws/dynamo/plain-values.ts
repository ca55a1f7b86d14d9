import type { AttributeValue, Item } from './model.ts';

/**
 * The short way for values as nearly all are: of the right form, with one type each. What is answered here is what
 * dynalite's own checks would answer; what is not plain goes to them, also to find the right words for what is wrong.
 */

/** A copy of attribute values of the right form; undefined for what dynalite has to look at. */
export function copyOfPlain(item: unknown): Item | undefined {
  if (!isObject(item)) return undefined;
  const copy: Item = {};
  for (const name of Object.keys(item)) {
    const value = copyOfValue(item[name]);
    if (!value) return undefined;
    copy[name] = value;
  }
  return copy;
}

function copyOfValue(value: unknown): AttributeValue | undefined {
  if (!isObject(value)) return undefined;
  const [type, ...more] = Object.keys(value);
  if (type === undefined || more.length > 0) return undefined;
  const held = value[type];
  switch (type) {
    case 'S':
    case 'N':
      return typeof held === 'string' ? { [type]: held } : undefined;
    case 'B':
      return isBase64(held) ? { B: held } : undefined;
    case 'BOOL':
    case 'NULL':
      return typeof held === 'boolean' ? { [type]: held } : undefined;
    case 'SS':
    case 'NS':
      return Array.isArray(held) && held.every((one) => typeof one === 'string')
        ? { [type]: [...held] }
        : undefined;
    case 'L': {
      const list = Array.isArray(held) ? held.map(copyOfValue) : [undefined];
      return list.includes(undefined) ? undefined : { L: list as AttributeValue[] };
    }
    case 'M': {
      const map = copyOfPlain(held);
      return map && { M: map };
    }
    default:
      return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const BASE64 = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/;

/** In the one form an encoder writes: padded, and no bits set beyond the last byte. */
function isBase64(text: unknown): text is string {
  return typeof text === 'string' && text.length % 4 === 0 && BASE64.test(text);
}

/** At most 38 digits, as DynamoDB writes it: no zeros in front, no exponent, no fraction. */
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,37})$/;

/** Whether there is surely nothing wrong with a value, nor anything in it to be written in another form. */
export function isPlainlyValid(value: AttributeValue): boolean {
  const [type, ...more] = Object.keys(value);
  if (more.length > 0) return false;
  switch (type) {
    case 'S':
    case 'B':
    case 'BOOL':
      return true;
    case 'NULL':
      return value.NULL === true;
    case 'N':
      return PLAIN_INTEGER.test(value.N ?? '');
    case 'L':
      return value.L?.every(isPlainlyValid) ?? false;
    case 'M':
      return Object.values(value.M ?? {}).every(isPlainlyValid);
    default:
      return false;
  }
}
