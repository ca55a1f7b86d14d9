import type { CancelledRun, CancelOutcome, TerminalStatus } from '#shared/contracts/index.ts';
import type { CancelScope, CancelSummary } from '../../cancel-all.ts';
import type { NexusDeskClient } from '../../nexusdesk-client.ts';
import { CliError, EXIT, usageError } from '../cli-error.ts';
import { exitCodeOfRun } from '../follow-run.ts';
import { plainLine } from '../terminal-text.ts';
import { type CommandContext, connect, runIdArgument } from './command-context.ts';
import { untilInterrupted } from './follow-commands.ts';
import { showRun } from './list-commands.ts';

export interface CancelOptions {
  readonly all?: boolean;
  readonly agent?: string;
  readonly reason?: string;
  readonly wait?: boolean;
}

/** Asks for the cancellation of one run, or of all that have not ended. */
export async function cancelCommand(
  context: CommandContext,
  id: string | undefined,
  options: CancelOptions,
): Promise<number> {
  const { all, agent } = options;
  if (id !== undefined && all) {
    throw usageError('give a run id or --all, not both', { field: 'runId' });
  }
  if (agent !== undefined && !all) {
    throw usageError('it narrows --all', { field: '--agent', remedy: 'add --all' });
  }
  if (all) return cancelAll(context, agent === undefined ? { all } : { agentId: agent }, options);
  if (id !== undefined) return cancelOne(context, id, options);
  throw usageError('there is no run id', {
    field: 'runId',
    remedy: '`nexusdesk runs --status live` lists the ids; --all means all of them',
  });
}

/** With `wait`, stays until the run has ended and exits as `tail` does. */
async function cancelOne(
  context: CommandContext,
  id: string,
  { reason, wait }: CancelOptions,
): Promise<number> {
  const runId = runIdArgument(id);
  const client = await connect(context);
  return untilInterrupted(context, runId, async (signal) => {
    const { output } = context;
    const run = await client.cancelRun(runId, reason === undefined ? {} : { reason }, { signal });
    if (!wait) {
      output.value(run);
      output.line(`${run.runId} ${plainLine(run.status)}`);
      return EXIT.ok;
    }
    output.notice('waiting', `waiting for ${runId} to end`);
    const ended = await client.waitForRun(runId, { signal });
    showRun(context, ended);
    return exitCodeOfRun(ended.status as TerminalStatus);
  });
}

const OUTCOME_WORDS = {
  cancelled: 'cancelled',
  cancelling: 'is being stopped',
  already_cancelling: 'is being stopped already',
  already_ended: 'had ended',
  failed: 'could not be cancelled',
} as const satisfies Record<CancelOutcome, string>;

/** Exits with 0 only when nothing was left to cancel. */
async function cancelAll(
  context: CommandContext,
  scope: CancelScope,
  { reason, wait }: CancelOptions,
): Promise<number> {
  const client = await connect(context);
  const { output } = context;
  return untilInterrupted(context, 'the cancellation', async (signal) => {
    const onRun = (run: CancelledRun) => output.line(outcomeLine(run));
    const summary = await client.cancelAllRuns(scope, { reason, onRun, signal });
    if (wait) await waitForAll(context, client, summary, signal);
    output.value(summary);
    if (summary.runs.length === 0) output.line('no runs');
    if (!summary.complete) {
      throw new CliError(EXIT.unavailable, 'not_all_cancelled', 'there are runs left', {
        remedy: 'call the command again; stop what starts new runs first',
      });
    }
    return EXIT.ok;
  });
}

function outcomeLine({ runId, outcome, status, error }: CancelledRun): string {
  const words =
    outcome === 'already_ended' && status ? `had ended ${status}` : OUTCOME_WORDS[outcome];
  return [`${runId} ${words}`, ...(error ? [plainLine(error.message, 500)] : [])].join(': ');
}

async function waitForAll(
  { output }: CommandContext,
  client: NexusDeskClient,
  { runs }: CancelSummary,
  signal: AbortSignal,
): Promise<void> {
  const ending = runs.filter(({ outcome }) => /cancelling$/.test(outcome));
  if (ending.length === 0) return;
  output.notice('waiting', `waiting for ${ending.length} to end`);
  for (const { runId } of ending) {
    const { status } = await client.waitForRun(runId, { signal });
    output.line(`${runId} ${plainLine(status)}`);
  }
}
