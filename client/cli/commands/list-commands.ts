import {
  isTerminal,
  RUN_STATUSES,
  type RunStatus,
  type RunSummary,
  type RunView,
  tripleName,
} from '#shared/contracts/index.ts';
import { EXIT, usageError } from '../cli-error.ts';
import { plainText } from '../terminal-text.ts';
import { errorLines, processTreeText, tookText, usageText } from '../timeline-format.ts';
import { type CommandContext, connect, countOption, runIdArgument } from './command-context.ts';

const MAX_LISTED = 1_000;
/** Asked of the API at a time. */
const PAGE_SIZE = 50;

const STATUS_FORMATS = {
  queued: 'dim',
  starting: 'cyan',
  running: 'cyan',
  cancelling: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'yellow',
  timed_out: 'red',
  budget_exhausted: 'red',
} as const satisfies Record<RunStatus, string>;

export async function runsCommand(
  context: CommandContext,
  options: { readonly status?: string; readonly limit: string },
): Promise<number> {
  const status = statusesOption(options.status);
  const limit = countOption(options.limit, '--limit', { min: 1, max: MAX_LISTED });
  const client = await connect(context);
  const runs: RunSummary[] = [];
  for await (const run of client.listRuns({ status, limit: Math.min(limit, PAGE_SIZE) })) {
    runs.push(run);
    if (runs.length >= limit) break;
  }
  const { output } = context;
  output.value({ runs });
  if (runs.length === 0) output.line('no runs');
  for (const run of runs) output.line(summaryLine(context, run));
  return EXIT.ok;
}

export async function showCommand(context: CommandContext, id: string): Promise<number> {
  const client = await connect(context);
  showRun(context, await client.getRun(runIdArgument(id)));
  return EXIT.ok;
}

export function showRun(context: CommandContext, run: RunView): void {
  const { output } = context;
  output.value(run);
  if (output.json) return;
  output.line(summaryLine(context, run));
  const row = (name: string, text: string | undefined) => {
    if (text) output.line(`  ${output.paint('dim', name.padEnd(9))} ${text}`);
  };
  row('created', run.createdAt);
  row('started', run.startedAt);
  row('ended', run.endedAt);
  row('deadline', run.endedAt ? undefined : run.deadlineAt);
  row('attempt', run.attempt > 1 ? String(run.attempt) : undefined);
  row('usage', usageText(run.usage));
  row('processes', run.processTree && processTreeText(run.processTree));
  for (const [index, line] of (run.error ? errorLines(run.error) : []).entries()) {
    row(index === 0 ? 'error' : '', line);
  }
  const answer = plainText(run.result?.output ?? '').trim();
  if (answer) output.line(`\n${answer}`);
}

function summaryLine({ output, host }: CommandContext, run: RunSummary): string {
  const endMs = run.endedAt ? Date.parse(run.endedAt) : host.clock.now();
  const took = tookText(Math.max(0, endMs - Date.parse(run.createdAt)));
  const status = output.paint(STATUS_FORMATS[run.status], run.status.padEnd(16));
  return `${run.runId}  ${status}  ${run.createdAt}  ${took.padStart(8)}  ${tripleName(run.engine)}`;
}

/** What `--status live` stands for. */
const LIVE_STATUSES = RUN_STATUSES.filter((status) => !isTerminal(status));

function statusesOption(text: string | undefined): RunStatus[] | undefined {
  return text?.split(',').flatMap((word) => {
    if (word === 'live') return LIVE_STATUSES;
    const status = RUN_STATUSES.find((known) => known === word);
    if (status) return [status];
    throw usageError(`${JSON.stringify(word)} is not a status`, {
      field: '--status',
      remedy: `one or several, with commas, of live, ${RUN_STATUSES.join(', ')}`,
    });
  });
}
