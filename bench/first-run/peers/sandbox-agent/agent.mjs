import { createInterface } from 'node:readline';

/** An agent over ACP on stdio: answers the handshake, and to a prompt `EMIT n` with n pieces of text. */
const TEXT = 'x'.repeat(20);
const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const ANSWERS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  'session/new': () => ({ sessionId: 'only' }),
  'session/prompt': (line) => {
    const count = Number(/EMIT (\d+)/.exec(line)?.[1] ?? 1);
    for (let i = 0; i < count; i += 1) {
      const content = { type: 'text', text: TEXT };
      const update = { sessionUpdate: 'agent_message_chunk', i, content };
      write({ method: 'session/update', params: { sessionId: 'only', update } });
    }
    return { stopReason: 'end_turn' };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) write({ id, result: ANSWERS[method]?.(line) ?? {} });
});
