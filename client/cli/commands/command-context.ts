import { type RunId, runIdSchema } from '#shared/contracts/index.ts';
import { NexusDeskClient } from '../../nexusdesk-client.ts';
import { usageError } from '../cli-error.ts';
import type { CliHost } from '../cli-host.ts';
import type { CliOutput } from '../cli-output.ts';
import { findConnection } from '../connection.ts';
import { parseCount, type Range } from '../duration.ts';

/** What a command works with. Its promise is the exit code. */
export interface CommandContext {
  readonly host: CliHost;
  readonly output: CliOutput;
}

export async function connect({ host }: CommandContext): Promise<NexusDeskClient> {
  const { url, token } = await findConnection(host);
  return new NexusDeskClient({ baseUrl: url, token, fetch: host.fetch, clock: host.clock });
}

export function runIdArgument(text: string): RunId {
  const parsed = runIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw usageError(`${JSON.stringify(text)} is not a run id`, {
    field: 'runId',
    remedy: '`nexusdesk runs` lists the ids',
  });
}

export function countOption(text: string, field: string, range: Range): number {
  const count = parseCount(text, range);
  if (count !== undefined) return count;
  throw usageError(`must be a whole number from ${range.min} to ${range.max}`, { field });
}
