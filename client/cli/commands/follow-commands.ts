import type { RunId, TerminalStatus } from '#shared/contracts/index.ts';
import { EXIT, Interrupted } from '../cli-error.ts';
import { exitCodeOfRun, followRun } from '../follow-run.ts';
import { plainLine } from '../terminal-text.ts';
import { type CommandContext, connect, runIdArgument } from './command-context.ts';
import { showRun } from './list-commands.ts';

/** Follows a run from its first event, or from behind a cursor; Ctrl-C leaves the run alone. */
export async function tailCommand(
  context: CommandContext,
  id: string,
  { cursor }: { readonly cursor?: string },
): Promise<number> {
  const runId = runIdArgument(id);
  const client = await connect(context);
  return untilInterrupted(context, runId, async (signal) => {
    // From the middle of a run, its first event does not say when it began.
    const startedAtMs =
      cursor === undefined || context.output.json
        ? undefined
        : Date.parse((await client.getRun(runId, { signal })).createdAt);
    const { output } = context;
    return exitCodeOfRun(await followRun({ client, output, runId, cursor, startedAtMs, signal }));
  });
}

/** Asks for cancellation; with `wait`, stays until the run has ended and exits as `tail` does. */
export async function cancelCommand(
  context: CommandContext,
  id: string,
  { reason, wait }: { readonly reason?: string; readonly wait?: boolean },
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

async function untilInterrupted(
  { host }: CommandContext,
  runId: RunId,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new AbortController();
  const release = host.onInterrupt(() =>
    stop.abort(new Interrupted(`no longer following ${runId}; the run is left to itself`)),
  );
  try {
    return await work(stop.signal);
  } finally {
    release();
  }
}
