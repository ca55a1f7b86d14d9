import type { DynamoContext, Input, Operations } from './context.ts';
import type { DynaliteAction } from './dynalite-types.ts';
import { WriteSet } from './write-set.ts';

/** GetItem, BatchGetItem, Query and Scan. */
export function readOperations({ dynalite, storage }: DynamoContext): Operations {
  const read = (operation: DynaliteAction) => (input: Input) => {
    const set = new WriteSet(storage);
    return dynalite.run(operation, set, dynalite.parse(operation, input, set));
  };
  return {
    GetItem: read('GetItem'),
    BatchGetItem: read('BatchGetItem'),
    Query: read('Query'),
    Scan: read('Scan'),
  };
}
