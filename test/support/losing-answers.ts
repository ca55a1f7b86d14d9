import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Who notices that an answer is lost: the SDK, which sends the request again, or its caller, who gets an error. */
export type LossSeenBy = 'sdk' | 'caller';

/**
 * From now on the answers of writes that landed get lost: each once, the next answer to the same kind of request comes.
 * Answers a function that ends it and says how many were lost.
 */
export function loseAnswers(client: DynamoDBClient, seenBy: LossSeenBy): () => number {
  const name = 'loseAnswers';
  let lost = 0;
  let spared = false;
  const lose = (commandName: string | undefined) => {
    if (!/Put|Update|Transact/.test(commandName ?? '') || spared) {
      spared = false;
      return;
    }
    spared = true;
    lost += 1;
    throw Object.assign(new Error('the answer was lost'), { name: 'TimeoutError' });
  };
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const reply = await next(args);
      lose(context.commandName);
      return reply;
    },
    // What the SDK tries again lies behind its retries, in the last step before the wire.
    { step: seenBy === 'sdk' ? 'deserialize' : 'initialize', name } as { step: 'initialize' },
  );
  return () => {
    client.middlewareStack.remove(name);
    return lost;
  };
}
