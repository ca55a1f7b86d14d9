import {
  FINAL_EVENT_TYPES,
  TERMINAL_STATUSES,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import type { LogPage, RunLedger, RunRef } from '#shared/runs/index.ts';
import type { UsageFact, UsageStore } from '#shared/usage/index.ts';
import type { Logger } from './ports.ts';
import type { StreamFailures } from './stream-failures.ts';

/** A page that may end an attempt or a run, as the table's stream tells of it. */
export interface EndingPage {
  /** Sequence number of its record: where a retry would begin. */
  readonly record: string;
  readonly ref: RunRef;
  readonly index: number;
  /** Undefined when it cannot be read. */
  readonly page: LogPage | undefined;
}

export interface FoldDeps {
  readonly ledger: Pick<RunLedger, 'readHead' | 'readSnapshot'>;
  readonly usage: UsageStore;
  readonly failures: StreamFailures;
  readonly log: Logger;
}

/**
 * TRM-5: adds what ended to the usage of its tenant. Answers the record from which the stream must be delivered again,
 * or undefined when everything is done; what is repeated counts once. A page that cannot be read is reported and left
 * to a redrive.
 */
export async function foldUsage(
  deps: FoldDeps,
  pages: readonly EndingPage[],
): Promise<string | undefined> {
  const left = new Set<string>();
  const attempt = async <T>(page: EndingPage, act: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await act();
    } catch (error) {
      left.add(page.record);
      deps.log.warn({ ...page.ref, page: page.index, error }, 'usage not counted yet');
      return undefined;
    }
  };
  const facts = await Promise.all(
    pages.map((each) =>
      attempt(each, async () => {
        const { ref, index, page } = each;
        if (page) return usageFactOf(deps.ledger, ref, page);
        await deps.failures.report({ ref, fromPage: index, code: 'unreadable_page' });
        deps.log.error({ ...ref, page: index }, 'usage waits for a redrive: page cannot be read');
        return undefined;
      }),
    ),
  );
  try {
    await deps.usage.fold(facts.filter((fact) => fact !== undefined));
  } catch (error) {
    deps.log.warn({ error }, 'usage not counted yet');
    for (const [index, fact] of facts.entries()) if (fact) left.add(pages[index]?.record ?? '');
  }
  return pages.find(({ record }) => left.has(record))?.record;
}

/** What a page adds to the usage, with what its run knows beside it; undefined for a page that ends nothing. */
export async function usageFactOf(
  ledger: FoldDeps['ledger'],
  ref: RunRef,
  page: LogPage,
): Promise<UsageFact | undefined> {
  const { attempt } = page;
  const last = page.kind === 'final' ? page.events.at(-1) : undefined;
  const outcome = last && outcomeOf(last.eventType);
  const endedAt = attempt?.endedAt ?? last?.timestamp;
  if (endedAt === undefined || (!attempt && !outcome)) return undefined;
  const [head, snapshot] = await Promise.all([
    ledger.readHead(ref),
    attempt && ledger.readSnapshot(ref, attempt.epoch),
  ]);
  return {
    tenantId: ref.tenantId,
    runId: ref.runId,
    page: page.index,
    agentId: head?.agentId,
    endedAt,
    attempt: attempt && {
      usage: attempt.usage,
      activeMs: snapshot && Date.parse(attempt.endedAt) - Date.parse(snapshot.claimedAt),
    },
    outcome,
  };
}

function outcomeOf(eventType: string): TerminalStatus | undefined {
  return TERMINAL_STATUSES.find((status) => FINAL_EVENT_TYPES[status] === eventType);
}
