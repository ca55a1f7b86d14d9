/**
 * Which records of a batch failed, by the answer of a function with ReportBatchItemFailures. Everything has
 * succeeded when the answer is empty or its list is; everything has failed when the answer is not of this form,
 * or names something that is not in the batch. Source: "Success and failure conditions" in the Lambda guide.
 */
export function failedItems(payload: string, ids: readonly string[]): ReadonlySet<string> {
  const all = new Set(ids);
  const none = new Set<string>();
  let answer: unknown;
  try {
    answer = JSON.parse(payload);
  } catch {
    return all;
  }
  if (answer === null || answer === '') return none;
  if (typeof answer !== 'object' || Array.isArray(answer)) return all;
  const { batchItemFailures } = answer as { batchItemFailures?: unknown };
  if (batchItemFailures === undefined || batchItemFailures === null) return none;
  if (!Array.isArray(batchItemFailures)) return all;
  const failed = new Set<string>();
  for (const item of batchItemFailures as unknown[]) {
    const id = (item as { itemIdentifier?: unknown } | null)?.itemIdentifier;
    if (typeof id !== 'string' || !all.has(id)) return all;
    failed.add(id);
  }
  return failed;
}
