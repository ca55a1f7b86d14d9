import { type Divergence, describeContract, type Side } from './divergences.ts';
import { conditionalWrites } from './dynamo/conditional-writes.ts';
import type { Target } from './dynamo/fixture.ts';
import { itemWrites } from './dynamo/item-writes.ts';
import { queries } from './dynamo/queries.ts';
import { streamsAndTimeToLive } from './dynamo/streams.ts';
import { tables } from './dynamo/tables.ts';
import { transactions } from './dynamo/transactions.ts';

/** What the platform needs of DynamoDB, as calls of the AWS SDK against `target`. */
export function describeDynamo(options: {
  readonly name: string;
  readonly side: Side;
  readonly target: () => Target;
  readonly divergences: readonly Divergence[];
}): void {
  describeContract(options, (it) => {
    const part = { it, target: options.target };
    tables(part);
    conditionalWrites(part);
    itemWrites(part);
    transactions(part);
    queries(part);
    streamsAndTimeToLive(part);
  });
}
