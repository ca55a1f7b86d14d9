import { join } from 'node:path';
import { localTestNativeAdapter } from '#shared/engines/local-test/adapter.ts';
import { describeEngineAdapter, type Stimulus } from './engine-adapter.suite.ts';

const script = (...steps: Record<string, unknown>[]): Stimulus => ({
  prompt: 'play the script',
  config: { script: steps } as Stimulus['config'],
});

describeEngineAdapter(localTestNativeAdapter, async () => ({
  adapter: localTestNativeAdapter,
  locations: {
    programsRoot: join(import.meta.dirname, '../../containers'),
    nodePath: process.execPath,
    platform: process.platform,
    arch: process.arch,
  },
  credentials: {},
  scenarios: {
    work: {
      ...script(
        { say: 'first' },
        { tool: { name: 'look', output: 'seen' } },
        { usage: { inputTokens: 12, cachedInputTokens: 0, outputTokens: 3 } },
        { say: 'the answer' },
      ),
      output: 'the answer',
      usage: { inputTokens: 12, cachedInputTokens: 0, outputTokens: 3, toolCalls: 1 },
    },
    hold: script({ tool: { name: 'wait', status: 'open' } }, { wait: 'forever' }),
    stubborn: script(
      { ignoreSignals: true },
      { spawnDaemon: { count: 2 } },
      { say: 'ready' },
      { wait: 'forever' },
    ),
    fail: { ...script({ say: 'half' }, { fail: 'it broke' }), code: 'engine_failed' },
    invalid: [
      { config: { script: [{ shout: 'x' }] }, field: 'config.script' },
      { config: { script: [{ wait: -1 }] }, field: 'config.script' },
    ],
    stream: script({ say: 'one two three', deltas: 3 }),
    command: { ...script({ command: 'echo made > made.txt' }), creates: 'made.txt' },
    file: {
      ...script({ file: { path: 'deep/made.txt', content: 'x' } }),
      creates: 'deep/made.txt',
    },
  },
  close: async () => {},
}));
