import { Interrupted } from '../cli-error.ts';
import { exitCodeOfRun, followRun } from '../follow-run.ts';
import { type CommandContext, connect, runIdArgument } from './command-context.ts';

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

/** Ctrl-C ends the command, not what it waits for. */
export async function untilInterrupted(
  { host }: CommandContext,
  what: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const stop = new AbortController();
  const release = host.onInterrupt(() =>
    stop.abort(new Interrupted(`no longer following ${what}; what runs is left to itself`)),
  );
  try {
    return await work(stop.signal);
  } finally {
    release();
  }
}
