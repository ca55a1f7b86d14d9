import {
  type AgentEvent,
  FINAL_EVENT_TYPES,
  RUN_EXIT_CODES,
  type RunId,
  type TerminalStatus,
} from '#shared/contracts/index.ts';
import type { NexusDeskClient } from '../nexusdesk-client.ts';
import type { CliOutput } from './cli-output.ts';

export interface FollowRunOptions {
  readonly client: NexusDeskClient;
  readonly output: CliOutput;
  readonly runId: RunId;
  readonly cursor?: string | undefined;
  readonly startedAtMs?: number | undefined;
  readonly signal: AbortSignal;
}

/** Shows a run's events up to its end, and says how it ended. */
export async function followRun(options: FollowRunOptions): Promise<TerminalStatus> {
  const { client, output, runId, cursor, signal } = options;
  const timeline = output.timeline(options.startedAtMs);
  let ending: TerminalStatus | undefined;
  for await (const event of client.streamEvents(runId, { cursor, signal })) {
    timeline.event(event);
    ending = endingOf(event) ?? ending;
  }
  if (ending) return ending;
  // The cursor was behind the final event already: only the run itself can tell.
  const run = await client.waitForRun(runId, { signal });
  timeline.finish(run);
  return run.status as TerminalStatus;
}

function endingOf(event: AgentEvent): TerminalStatus | undefined {
  const statuses = Object.keys(FINAL_EVENT_TYPES) as TerminalStatus[];
  return statuses.find((status) => FINAL_EVENT_TYPES[status] === event.eventType);
}

export function exitCodeOfRun(status: TerminalStatus): number {
  return RUN_EXIT_CODES[status];
}
