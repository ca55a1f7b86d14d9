import { writeCapacity } from './capacity.ts';
import type { DynamoContext, Input, Operations } from './context.ts';
import { validationError } from './dynamo-error.ts';
import { applyWrite, parseWrite, type WriteOperation } from './item-write.ts';
import type { Item, UserIdentity } from './model.ts';
import { sizeOfItem } from './values.ts';
import { MAX_ITEM_BYTES, WriteSet } from './write-set.ts';

const MAX_BATCH_WRITES = 25;

/** PutItem, UpdateItem, DeleteItem and BatchWriteItem. */
export function writeOperations(context: DynamoContext): Operations {
  return {
    PutItem: (input) => writeItem(context, 'PutItem', input),
    UpdateItem: (input) => writeItem(context, 'UpdateItem', input),
    DeleteItem: (input) => writeItem(context, 'DeleteItem', input),
    BatchWriteItem: (input) => batchWrite(context, input),
  };
}

export function writeItem(
  context: DynamoContext,
  operation: WriteOperation,
  input: Input,
  identity?: UserIdentity,
): object {
  const { dynalite, storage, commit } = context;
  const set = new WriteSet(storage);
  const write = parseWrite(dynalite, operation, input, set);
  const answer = applyWrite(dynalite, write, set);
  const changes = set.changes();
  commit(changes, identity && { identity });
  const wanted = write.request.ReturnConsumedCapacity;
  const [ConsumedCapacity] = writeCapacity(dynalite.db, changes, wanted) ?? [];
  return { ...answer, ConsumedCapacity };
}

/** Lands as one, which AWS does not promise, so nobody can rely on what AWS would leave half done. */
function batchWrite(context: DynamoContext, input: Input): object {
  const { dynalite, storage, commit } = context;
  const set = new WriteSet(storage);
  const request = dynalite.parse('BatchWriteItem', input, set);
  const writes = Object.values<{ PutRequest?: { Item: Item } }[]>(request.RequestItems).flat();
  if (writes.length > MAX_BATCH_WRITES) {
    throw validationError('Too many items requested for the BatchWriteItem call');
  }
  for (const { PutRequest } of writes) {
    if (PutRequest && sizeOfItem(PutRequest.Item) > MAX_ITEM_BYTES) {
      throw validationError('Item size has exceeded the maximum allowed size');
    }
  }
  const answer = dynalite.run('BatchWriteItem', set, request);
  const changes = set.changes();
  commit(changes);
  const capacity = writeCapacity(dynalite.db, changes, request.ReturnConsumedCapacity);
  return { ...answer, ConsumedCapacity: capacity };
}
