export * from './functions.ts';
export * from './table-shape.ts';
