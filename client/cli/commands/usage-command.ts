import {
  USAGE_GROUPINGS,
  type UsageGrouping,
  type UsageReport,
  type UsageRow,
  type UsageTotals,
  usageDaySchema,
} from '#shared/contracts/index.ts';
import { ReplyError } from '../../client-error.ts';
import type { NexusDeskClient } from '../../nexusdesk-client.ts';
import { EXIT, usageError } from '../cli-error.ts';
import { plainLine } from '../terminal-text.ts';
import { tookText, usageText } from '../timeline-format.ts';
import { type CommandContext, connect } from './command-context.ts';

export interface UsageOptions {
  readonly from?: string;
  readonly to?: string;
  readonly by: string;
}

/** What the tenant used, a line for each day or agent and one for all of it. */
export async function usageCommand(
  context: CommandContext,
  options: UsageOptions,
): Promise<number> {
  const query = {
    from: dayOption(options.from, '--from'),
    to: dayOption(options.to, '--to'),
    groupBy: groupingOption(options.by),
  };
  const report = await wholeReport(await connect(context), query);
  const { output } = context;
  output.value(report);
  if (output.json) return EXIT.ok;
  if (report.rows.length === 0) {
    output.line(`nothing was used from ${report.from} to ${report.to}`);
    return EXIT.ok;
  }
  const lines = report.rows.map((row) => [nameOf(row), row] as const);
  const width = Math.max(...lines.map(([name]) => name.length), 'total'.length);
  for (const [name, row] of lines) output.line(`${name.padEnd(width)}  ${totalsText(row)}`);
  output.line(`${output.paint('bold', 'total'.padEnd(width))}  ${totalsText(report.total)}`);
  return EXIT.ok;
}

/** All pages in one. */
async function wholeReport(
  client: NexusDeskClient,
  query: Parameters<NexusDeskClient['getUsage']>[0],
): Promise<UsageReport> {
  const rows: UsageRow[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { nextCursor, ...page } = await client.getUsage({ ...query, cursor });
    rows.push(...page.rows);
    if (nextCursor === undefined) return { ...page, rows };
    if (nextCursor === cursor) throw new ReplyError('the usage does not advance');
    cursor = nextCursor;
  }
}

const nameOf = ({ day, agentId }: UsageRow) => plainLine(day ?? agentId ?? '(no agent)');

function totalsText(totals: UsageTotals): string {
  const runs = Object.entries(totals.runs);
  const ended = runs.reduce((sum, [, count]) => sum + (count ?? 0), 0);
  const outcomes = runs.map(([status, count]) => `${count} ${status}`).join(', ');
  const attempts = totals.attempts;
  return [
    `${ended} ${ended === 1 ? 'run' : 'runs'}${outcomes ? ` (${outcomes})` : ''}`,
    `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    tookText(totals.activeMs),
    usageText(totals.usage),
  ]
    .filter(Boolean)
    .join(' · ');
}

function dayOption(text: string | undefined, field: string): string | undefined {
  if (text === undefined || usageDaySchema.safeParse(text).success) return text;
  throw usageError(`${JSON.stringify(text)} is not a day`, {
    field,
    remedy: 'write it as 2026-11-30',
  });
}

function groupingOption(text: string): UsageGrouping {
  const grouping = USAGE_GROUPINGS.find((known) => known === text);
  if (grouping) return grouping;
  throw usageError(`${JSON.stringify(text)} is nothing to group by`, {
    field: '--by',
    remedy: `one of ${USAGE_GROUPINGS.join(', ')}`,
  });
}
