import { AwsError } from '../kit/aws-error.ts';
import { queryCodeOf, sqsError } from './sqs-error.ts';

const MAX_ENTRIES = 10;

interface Entry {
  readonly Id: string;
}

interface Failed extends Entry {
  readonly SenderFault: boolean;
  readonly Code: string;
  readonly Message: string;
}

export interface BatchAnswer {
  readonly Successful: readonly (Entry & object)[];
  readonly Failed: readonly Failed[];
}

/** Throws what is wrong with the batch as a whole. */
export function checkBatch<E extends Entry>(entries: unknown): readonly E[] {
  if (!Array.isArray(entries) || entries.length === 0) {
    throw sqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  }
  if (entries.length > MAX_ENTRIES) {
    throw sqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${MAX_ENTRIES}. You have sent ${entries.length}.`,
    );
  }
  const seen = new Set<string>();
  for (const { Id } of entries as Entry[]) {
    if (typeof Id !== 'string' || !/^[\w-]{1,80}$/.test(Id)) {
      throw sqsError(
        'InvalidBatchEntryId',
        'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
      );
    }
    if (seen.has(Id)) throw sqsError('BatchEntryIdsNotDistinct', `Id ${Id} repeated.`);
    seen.add(Id);
  }
  return entries as E[];
}

/** Runs `work` for each entry; an {@link AwsError} fails that entry only. */
export function eachEntry<E extends Entry>(
  entries: readonly E[],
  work: (entry: E) => object | undefined,
): BatchAnswer {
  const successful: (Entry & object)[] = [];
  const failed: Failed[] = [];
  for (const entry of entries) {
    try {
      successful.push({ Id: entry.Id, ...work(entry) });
    } catch (error) {
      if (!(error instanceof AwsError)) throw error;
      const { message } = error;
      failed.push({ Id: entry.Id, SenderFault: true, Code: queryCodeOf(error), Message: message });
    }
  }
  return { Successful: successful, Failed: failed };
}
