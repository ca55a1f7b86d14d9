export * from './conditions.ts';
export { itemBytes, MAX_ITEM_BYTES } from './item-size.ts';
export { type Key, Table, type TransactionPart, type WriteOutcome } from './table.ts';
export type { Item } from './wire.ts';
