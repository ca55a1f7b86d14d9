export * from './conditions.ts';
export { type Item, type Key, Table, type TransactionPart, type WriteOutcome } from './table.ts';
