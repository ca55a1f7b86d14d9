/** The largest item there can be, in bytes of {@link itemBytes}. */
export const MAX_ITEM_BYTES = 400 * 1024;

/** Bytes of an item as DynamoDB counts them, names of attributes included (B89). Numbers are counted generously. */
export function itemBytes(item: Readonly<Record<string, unknown>>): number {
  return Object.entries(item).reduce(
    (sum, [name, value]) =>
      value === undefined ? sum : sum + Buffer.byteLength(name) + valueBytes(value),
    0,
  );
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return Math.min(21, Math.ceil(String(value).length / 2) + 2);
  if (value instanceof Uint8Array) return value.byteLength;
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + 1 + valueBytes(one), 3);
  if (value !== null && typeof value === 'object') {
    const entries = Object.values(value).filter((one) => one !== undefined);
    return 3 + entries.length + itemBytes(value as Record<string, unknown>);
  }
  return 1;
}
