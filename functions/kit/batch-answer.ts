/** What Lambda understands as the answer of a function behind a queue or a stream (ReportBatchItemFailures). */
export interface BatchAnswer {
  batchItemFailures: { itemIdentifier: string }[];
}

/**
 * B55, B65: the only maker of such answers. Failed items are named by ids of the event, each once; everything else
 * about the answer is fixed. Lambda takes a name that it did not send for a failure of the whole batch.
 *
 * @throws RangeError when `failed` names something else: then the whole batch fails openly, as an error of ours
 */
export function batchAnswer(ids: readonly string[], failed: Iterable<string>): BatchAnswer {
  const known = new Set(ids);
  const named = new Set(failed);
  for (const id of named) {
    if (id === '' || !known.has(id)) throw new RangeError(`"${id}" is not an item of this batch`);
  }
  return { batchItemFailures: [...named].map((itemIdentifier) => ({ itemIdentifier })) };
}
