import type { Table, TransactionPart } from '#shared/table/index.ts';

type TransactionOutcome = Awaited<ReturnType<Table['transact']>>;

/**
 * A transaction that writes its own name somewhere (B95). When no answer comes, or the condition of its first part is
 * said to be refused, `landed` looks for the name: an own write whose answer was lost is a success.
 */
export async function transactNamed(
  table: Table,
  parts: readonly TransactionPart[],
  landed: () => Promise<boolean>,
): Promise<TransactionOutcome> {
  let outcome: TransactionOutcome;
  try {
    outcome = await table.transact(parts);
  } catch (error) {
    // It is the first fault that tells what happened; one of the look is only about the look.
    if (await landed().catch(() => false)) return { applied: true };
    throw error;
  }
  if (!outcome.applied && outcome.refused[0] && (await landed())) return { applied: true };
  return outcome;
}

/**
 * A name for one write, kept in what it writes. Compared, never ordered or guessed at.
 */
export function newWriteName(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 16);
}
