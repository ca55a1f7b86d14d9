import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import {
  engineProcesses,
  newDataDir,
  removeDataDir,
  runToEnd,
  type StackProcess,
  startStackProcess,
} from '#test/support/stack-process.ts';

let stack: StackProcess;
beforeAll(async () => {
  stack = await startStackProcess(newDataDir());
});
afterAll(async () => {
  await stack.stop();
  removeDataDir(stack.dataDir);
});

/** What the local stack gives the offline model as its key: a planted secret that everything is searched for. */
const OFFLINE_KEY = /offline-[0-9a-f]{24}/;

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const payloads = (events: readonly AgentEvent[], type: string) =>
  events
    .filter(({ eventType }) => eventType === type)
    .map(({ payload }) => payload as Record<string, never>);

describe('ADP-3 the real Codex CLI with the offline model', () => {
  it('runs commands and changes files in the kept workdir of its run', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: { id: 'codex' },
      input: { prompt: 'greet the world' },
    });
    expect(run).toMatchObject({
      status: 'completed',
      engine: { engineId: 'codex', protocolId: 'cli_exec' },
    });
    expect(run.usage.inputTokens).toBeGreaterThan(0);
    expect(run.result?.output?.toLowerCase()).toContain('offline');
    const tools = payloads(events, 'tool.completed') as unknown as {
      kind: string;
      status: string;
      exitCode?: number;
      changes?: { path: string }[];
    }[];
    expect(
      tools.filter(({ kind }) => kind === 'command').every(({ status }) => status === 'completed'),
    ).toBe(true);
    const changes = tools.flatMap((tool) => tool.changes ?? []);
    expect(changes.length).toBeGreaterThan(0);
    const workdir = join(stack.dataDir, 'workdirs', run.runId, 'work');
    for (const { path } of changes) {
      const name = path.split('/').at(-1) ?? '';
      expect(readFileSync(join(workdir, name), 'utf8').length).toBeGreaterThan(0);
    }
    expect(payloads(events, 'run.started')).toHaveLength(1);
    expect(
      events.some(
        ({ source, eventType }) => source === 'engine_native' && eventType.startsWith('codex.'),
      ),
    ).toBe(true);
    expect(engineProcesses(run.runId)).toEqual([]);
  });

  it('CAP-3 gives the model no way to run commands when the run goes without terminal_execution', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: { id: 'codex' },
      input: { prompt: 'greet the world' },
      capabilities: { deny: ['terminal_execution'] },
    });
    expect(run.capabilities?.effective.terminal_execution).toBe(false);
    expect(run.capabilities?.refusals).toContainEqual(
      expect.objectContaining({
        capability: 'terminal_execution',
        layer: 'effective',
        rule: 'run.denied',
      }),
    );
    const tools = payloads(events, 'tool.completed') as unknown as { kind: string }[];
    expect(tools.filter(({ kind }) => kind === 'command')).toEqual([]);
  });

  it('SEC-2 leaves the provider key in no event, no file of the run and no log', async () => {
    const { run, events } = await runToEnd(stack, {
      engine: { id: 'codex' },
      input: { prompt: '[[scenario:print-env]]' },
    });
    expect(JSON.stringify(events)).toContain('PATH=');
    expect(JSON.stringify(events)).not.toMatch(OFFLINE_KEY);
    const kept = join(stack.dataDir, 'workdirs', run.runId);
    expect(readdirSync(kept)).not.toContain('home');
    for (const folder of [kept, join(stack.dataDir, 'task-logs')]) {
      for (const file of filesBelow(folder))
        expect(readFileSync(file, 'latin1'), file).not.toMatch(OFFLINE_KEY);
    }
    expect(readFileSync(join(stack.dataDir, 'platform.log'), 'utf8')).not.toMatch(OFFLINE_KEY);
  });
});
