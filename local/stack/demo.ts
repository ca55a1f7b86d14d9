import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { createTimeline } from '#client/cli/timeline.ts';
import { NexusDeskClient } from '#client/nexusdesk-client.ts';
import { type AgentEvent, isTerminal, RUN_EXIT_CODES } from '#shared/contracts/index.ts';
import type { Stack } from './stack.ts';

const DEMO_PROMPT =
  'Write a small program that greets its reader, run it, and say what it printed.';

/** One run through everything: API, queue, orchestrator, host, the real engine. Answers the exit code of its outcome. */
export async function runDemo(stack: Stack): Promise<number> {
  if (!stack.engines.some(({ engineId }) => engineId === 'codex')) {
    console.error('the demo needs an engine: npm start -- engines install codex');
    return 69;
  }
  const client = new NexusDeskClient({ baseUrl: stack.url, token: stack.token });
  console.log(`\n${styleText('bold', 'demo run')} › ${DEMO_PROMPT}`);
  const { executionId } = await client.createRun({
    engine: { id: 'codex' },
    input: { prompt: DEMO_PROMPT },
    timeoutMs: 5 * 60_000,
  });
  const timeline = createTimeline({
    write: (line) => console.log(line),
    color: process.stdout.hasColors?.() ?? false,
  });
  const events: AgentEvent[] = [];
  for await (const event of client.streamEvents(executionId)) {
    events.push(event);
    timeline.event(event);
  }
  const run = await client.getRun(executionId);
  timeline.finish(run);
  console.log(`\n  log of the run: ${summaryOf(events)}`);
  const workdir = join(stack.workdirs, executionId, 'work');
  const files = await readdir(workdir, { recursive: true }).catch(() => []);
  console.log(`  files of the run, kept in ${workdir}:`);
  for (const file of files) console.log(`    ${file}`);
  return isTerminal(run.status) ? RUN_EXIT_CODES[run.status] : 70;
}

/** The events by their own names, as they are stored and published: `run.queued → run.started → …`. */
function summaryOf(events: readonly AgentEvent[]): string {
  const tools = (kind: string) =>
    events.filter(
      ({ eventType, payload }) =>
        eventType === 'tool.completed' && (payload as { kind?: string }).kind === kind,
    ).length;
  const milestones = events
    .map(({ eventType }) => eventType)
    .filter((type) => type.startsWith('run.') || type === 'usage.updated');
  return `${events.length} events · ${milestones.join(' → ')} · commands: ${tools('command')}, file changes: ${tools('file_change')}`;
}
