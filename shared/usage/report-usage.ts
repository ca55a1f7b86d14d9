import {
  PlatformError,
  type UsageGrouping,
  type UsageReport,
  type UsageRow,
} from '#shared/contracts/index.ts';
import type { UsageStore } from './usage-store.ts';
import { sumOf, totalsOf, type UsageTally } from './usage-tally.ts';

const DAY_MS = 24 * 3_600_000;
/** Days without `from` or `to`. */
const USUAL_DAYS = 30;
/** A row of days is one small item; one of agents is summed up from all its days. */
const MAX_DAYS = { day: 366, agent: 92 } as const satisfies Record<UsageGrouping, number>;
/** Items read for one answer by agents. */
const MAX_AGENT_DAYS = 20_000;

export interface UsageQuery {
  readonly tenantId: string;
  /** Days, both included. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly groupBy: UsageGrouping;
  /** Rows in one answer. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/**
 * Usage of a tenant over some days, by day or by agent (in the order of their names, the runs without an agent first).
 * @throws PlatformError `invalid_request` for a range that is none or too long, `invalid_cursor`
 */
export async function reportUsage(
  store: UsageStore,
  query: UsageQuery,
  nowMs: number,
): Promise<UsageReport> {
  const { groupBy, limit } = query;
  const { from, to } = rangeOf(query, nowMs);
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const found =
    groupBy === 'day'
      ? (await store.days(query.tenantId, from, to)).map(({ day, tally }) => ({
          name: day,
          label: { day },
          tally,
        }))
      : await byAgent(store, query.tenantId, from, to);
  const rows = found.filter(({ name }) => after === undefined || name > after);
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    from,
    to,
    groupBy,
    rows: page.map(({ label, tally }): UsageRow => ({ ...label, ...totalsOf(tally) })),
    total: totalsOf(sumOf(found.map(({ tally }) => tally))),
    ...(last && rows.length > page.length ? { nextCursor: encodeCursor(last.name) } : {}),
  };
}

async function byAgent(store: UsageStore, tenantId: string, from: string, to: string) {
  const found = await store.agentDays(tenantId, from, to, MAX_AGENT_DAYS);
  if (!found) {
    throw new PlatformError('invalid_request', 'too many agents for so many days', {
      field: 'query.from',
      remedy: 'ask for fewer days at a time',
    });
  }
  const agents = Map.groupBy(found, ({ agentId }) => agentId ?? '');
  return [...agents]
    .map(([name, days]): { name: string; label: { agentId?: string }; tally: UsageTally } => ({
      name,
      label: name === '' ? {} : { agentId: name },
      tally: sumOf(days.map(({ tally }) => tally)),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function rangeOf(query: UsageQuery, nowMs: number): { from: string; to: string } {
  const to = query.to ?? dayText(nowMs);
  const from = query.from ?? dayText(Date.parse(to) - (USUAL_DAYS - 1) * DAY_MS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days < 1) {
    throw new PlatformError('invalid_request', `${from} is after ${to}`, {
      field: 'query.from',
      remedy: 'give a first day that is not after the last one',
    });
  }
  const most = MAX_DAYS[query.groupBy];
  if (days > most) {
    throw new PlatformError('invalid_request', `${days} days are too many; at most ${most}`, {
      field: 'query.from',
      remedy: `ask for at most ${most} days at a time when grouping by ${query.groupBy}`,
    });
  }
  return { from, to };
}

const dayText = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const encodeCursor = (name: string) => Buffer.from(JSON.stringify([name])).toString('base64url');

function decodeCursor(cursor: string): string {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(value) && value.length === 1 && typeof value[0] === 'string') return value[0];
  } catch {
    // told below, alike for every kind of wrong cursor
  }
  throw new PlatformError('invalid_cursor', 'this cursor was not made by this API', {
    field: 'cursor',
    remedy: 'use the nextCursor of the answer before, unchanged, with the same query',
  });
}
