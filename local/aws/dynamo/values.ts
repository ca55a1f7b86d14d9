import type { AttributeValue, Item } from './model.ts';

/**
 * Whether two values are the same to DynamoDB: sets have no order, nor have a map's attributes. Numbers are
 * compared as text, since they are stored in their plain form.
 */
export function sameValue(left: AttributeValue, right: AttributeValue): boolean {
  for (const type of ['S', 'N', 'B', 'BOOL', 'NULL'] as const) {
    if (left[type] !== undefined) return left[type] === right[type];
  }
  for (const type of ['SS', 'NS', 'BS'] as const) {
    if (left[type] !== undefined) return sameSet(left[type], right[type]);
  }
  if (left.L) return sameList(left.L, right.L);
  return left.M !== undefined && right.M !== undefined && sameItem(left.M, right.M);
}

export function sameItem(left: Item, right: Item): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => {
    const value = left[name];
    const other = Object.hasOwn(right, name) ? right[name] : undefined;
    return value !== undefined && other !== undefined && sameValue(value, other);
  });
}

function sameSet(left: readonly string[], right: readonly string[] | undefined): boolean {
  if (left.length !== right?.length) return false;
  const members = new Set(right);
  return left.every((member) => members.has(member));
}

function sameList(
  left: readonly AttributeValue[],
  right: readonly AttributeValue[] | undefined,
): boolean {
  if (left.length !== right?.length) return false;
  return left.every((value, at) => {
    const other = right[at];
    return other !== undefined && sameValue(value, other);
  });
}

/**
 * The size of an item as DynamoDB counts it, in bytes: names and strings in UTF-8. Limit: 409,600.
 * (dynalite counts UTF-16 units, so it lets too large items pass.)
 */
export function itemSize(item: Item): number {
  let size = 0;
  for (const name of Object.keys(item)) {
    size += utf8Length(name) + sizeOf(item[name] as AttributeValue);
  }
  return size;
}

/** As `Buffer.byteLength`, which for a short text costs more than looking at it. */
function utf8Length(text: string): number {
  if (text.length > 48) return Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1) {
    if (text.charCodeAt(at) > 127) return Buffer.byteLength(text);
  }
  return text.length;
}

function sizeOf(value: AttributeValue): number {
  if (value.S !== undefined) return utf8Length(value.S);
  if (value.N !== undefined) return sizeOfNumber(value.N);
  if (value.B !== undefined) return Buffer.byteLength(value.B, 'base64');
  if (value.SS) return sum(value.SS, (text) => Buffer.byteLength(text));
  if (value.NS) return sum(value.NS, sizeOfNumber);
  if (value.BS) return sum(value.BS, (text) => Buffer.byteLength(text, 'base64'));
  if (value.L) return 3 + sum(value.L, (member) => 1 + sizeOf(member));
  if (value.M) return 3 + Object.keys(value.M).length + itemSize(value.M);
  return 1;
}

const sizes = new WeakMap<Item, number>();

/** {@link itemSize}, remembered: for an item that has its final form, since it must not be changed any more. */
export function sizeOfItem(item: Item): number {
  let size = sizes.get(item);
  if (size === undefined) {
    size = itemSize(item);
    sizes.set(item, size);
  }
  return size;
}

const SHORT_INTEGER = /^[1-9]\d{0,14}$/;

/** Two digits a byte, counted from an even power of ten, plus one for the exponent and one for a minus. */
function sizeOfNumber(text: string): number {
  if (SHORT_INTEGER.test(text)) return 1 + Math.ceil(text.length / 2) - pairsOfZeros(Number(text));
  const negative = text.startsWith('-');
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const padded = whole.length % 2 ? `0${whole}` : whole;
  const paddedFraction = fraction.length % 2 ? `${fraction}0` : fraction;
  const pairs = (padded + paddedFraction).match(/../g) ?? [];
  const first = pairs.findIndex((pair) => pair !== '00');
  if (first < 0) return 1;
  const last = pairs.findLastIndex((pair) => pair !== '00');
  return 1 + (last - first + 1) + (negative ? 1 : 0);
}

function pairsOfZeros(integer: number): number {
  let pairs = 0;
  for (let rest = integer; rest % 100 === 0; rest /= 100) pairs += 1;
  return pairs;
}

/** How deep lists and maps are nested in a value; a plain value is 0. Limit: 32 below the item. */
export function nestingOf(value: AttributeValue): number {
  const members = value.L ?? (value.M && Object.values(value.M));
  if (!members) return 0;
  return 1 + members.reduce((deepest, member) => Math.max(deepest, nestingOf(member)), 0);
}

function sum<T>(members: readonly T[], size: (member: T) => number): number {
  return members.reduce((total, member) => total + size(member), 0);
}
