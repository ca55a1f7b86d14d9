import type { DynamoContext, Input, Operations } from './context.ts';
import type { DynaliteOperation, DynaliteRequest } from './dynalite-types.ts';
import { changeTables, stored } from './tables.ts';
import { WriteSet } from './write-set.ts';

/** Tags of tables. */
export function tagOperations(context: DynamoContext): Operations {
  const { dynalite, storage } = context;
  const parse = (operation: DynaliteOperation, input: Input): [DynaliteRequest, string] => {
    const request = dynalite.parse(operation, input, new WriteSet(storage));
    const name = String(request.ResourceArn).split('/').at(-1);
    return [request, stored(context, name).table.TableName];
  };
  return {
    TagResource(input) {
      const [request, table] = parse('TagResource', input);
      changeTables(context, () => storage.putTags(table, request.Tags));
      return {};
    },
    UntagResource(input) {
      const [request, table] = parse('UntagResource', input);
      changeTables(context, () => storage.removeTags(table, request.TagKeys));
      return {};
    },
    ListTagsOfResource(input) {
      const [, table] = parse('ListTagsOfResource', input);
      return { Tags: storage.tags(table) };
    },
  };
}
