import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Asks for the consumed capacity of every write of a client and adds it up. */
export function countWriteUnits(client: DynamoDBClient): { take(): number } {
  let sum = 0;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const isWrite = /Put|Update|Delete|TransactWrite/.test(String(context.commandName));
      const reply = await next({
        ...args,
        input: {
          ...args.input,
          ...(isWrite ? { ReturnConsumedCapacity: 'TOTAL' } : {}),
        } as typeof args.input,
      });
      const { ConsumedCapacity } = reply.output as {
        ConsumedCapacity?: { CapacityUnits?: number } | { CapacityUnits?: number }[];
      };
      for (const consumed of [ConsumedCapacity ?? []].flat()) sum += consumed.CapacityUnits ?? 0;
      return reply;
    },
    { step: 'initialize', name: 'countWriteUnits' },
  );
  return {
    /** The units since it was asked last. */
    take() {
      const taken = sum;
      sum = 0;
      return taken;
    },
  };
}

/** A small generator, so that a benchmark counts the same on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
