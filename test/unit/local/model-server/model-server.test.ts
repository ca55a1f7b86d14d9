import { afterEach, describe, expect, it } from 'vitest';
import {
  demoScript,
  httpError,
  type ModelScript,
  message,
  reasoning,
  respond,
  runCommand,
  type ScriptedModelServer,
  say,
  startScriptedModelServer,
} from '#local/model-server/index.ts';

const USER = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hello' }] };
const TOOLS = [
  { type: 'function', name: 'exec_command' },
  { type: 'custom', name: 'apply_patch' },
];
const result = (output: unknown) => ({ type: 'function_call_output', call_id: 'c', output });

let server: ScriptedModelServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(script: ModelScript, apiKey?: string): Promise<ScriptedModelServer> {
  server = await startScriptedModelServer({ script, ...(apiKey === undefined ? {} : { apiKey }) });
  return server;
}

function ask(input: readonly unknown[] = [USER], options: { tools?: unknown; key?: string } = {}) {
  return fetch(`${server?.baseUrl}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${options.key ?? 'any'}` },
    body: JSON.stringify({ model: 'm', stream: true, input, tools: options.tools ?? TOOLS }),
  });
}

/** The stream's events, in order. */
async function events(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
}

function itemsOf(stream: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return stream
    .filter(({ type }) => type === 'response.output_item.done')
    .map(({ item }) => item as Record<string, unknown>);
}

describe('the scripted model over the Responses API', () => {
  it('streams items with their text in pieces, and then usage', async () => {
    await start([
      respond([reasoning('hm'), message('one two')], {
        deltas: ['one ', 'two'],
        usage: { inputTokens: 7, outputTokens: 3, cachedTokens: 2, reasoningTokens: 1 },
      }),
    ]);
    const stream = await events(await ask());
    expect(stream.map(({ type }) => type)).toEqual([
      'response.created',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(stream.map(({ sequence_number }) => sequence_number)).toEqual([...stream.keys()]);
    expect(stream.filter(({ delta }) => delta).map(({ delta }) => delta)).toEqual(['one ', 'two']);
    expect(stream.at(-1)?.response).toMatchObject({
      status: 'completed',
      usage: {
        input_tokens: 7,
        input_tokens_details: { cached_tokens: 2 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 1 },
        total_tokens: 10,
      },
    });
  });

  it('plays a list one step a request, its last step for ever', async () => {
    await start([respond([runCommand('ls')]), say('done')]);
    const types: unknown[] = [];
    for (let i = 0; i < 3; i++)
      types.push(...itemsOf(await events(await ask())).map(({ type }) => type));
    expect(types).toEqual(['function_call', 'message', 'message']);
    expect(server?.requests).toHaveLength(3);
  });

  it('gives every call an id of its own', async () => {
    await start([respond([runCommand('a'), runCommand('b')])]);
    const ids = itemsOf(await events(await ask())).map(({ call_id }) => call_id);
    expect(new Set(ids).size).toBe(2);
  });

  it('fails as models fail', async () => {
    await start([
      httpError(429, { message: 'slow down', code: 'rate_limit_exceeded' }, { 'retry-after': '1' }),
      { kind: 'failed', code: 'server_error', message: 'x' },
      { kind: 'incomplete', reason: 'max_output_tokens' },
      { kind: 'eof', items: [message('half')] },
      { kind: 'raw', text: 'data: {broken' },
      { kind: 'cut', items: [message('half')] },
    ]);
    const limited = await ask();
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await limited.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    const last = async () => (await events(await ask())).at(-1);
    expect(await last()).toMatchObject({ type: 'response.failed' });
    expect(await last()).toMatchObject({ type: 'response.incomplete' });
    expect(await last()).toMatchObject({ type: 'response.output_item.done' });
    expect(await (await ask()).text()).toBe('data: {broken');
    await expect(ask().then((response) => response.text())).rejects.toThrow();
  });

  it('hangs until the client gives up', async () => {
    await start([{ kind: 'hang' }]);
    const response = await ask();
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(Buffer.from(first?.value ?? []).toString()).toContain('response.created');
    await reader?.cancel();
  });

  it('asks for its key, and answers nonsense as an API does', async () => {
    await start([say('ok')], 'the-key');
    expect((await ask([USER], { key: 'wrong' })).status).toBe(401);
    expect((await ask([USER], { key: 'the-key' })).status).toBe(200);
    const post = (body: string) => fetch(`${server?.baseUrl}/responses`, { method: 'POST', body });
    expect((await post('[1]')).status).toBe(400);
    expect((await post('not json')).status).toBe(400);
    expect((await fetch(`${server?.url}/nowhere`)).status).toBe(404);
  });

  it('says so when a script is wrong', async () => {
    await start(() => {
      throw new TypeError('no such step');
    });
    const response = await ask();
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching('no such step') },
    });
  });
});

describe('the demonstration script', () => {
  const said = async (input: readonly unknown[], tools?: unknown) =>
    itemsOf(await events(await ask(input, { tools })));

  it('stands where the conversation stands, whoever asked before', async () => {
    await start(demoScript);
    const done = [USER, result('a'), result('b'), result('Output:\nnotes.md has 9 words\n')];
    expect(await said(done)).toMatchObject([
      { content: [{ text: expect.stringContaining('notes.md has 9 words') }] },
    ]);
    expect(await said([USER])).toMatchObject([{ type: 'message' }, { name: 'exec_command' }]);
    expect(await said([USER, result('a')])).toMatchObject([
      { type: 'message' },
      { name: 'apply_patch' },
    ]);
  });

  it('begins again with a new message of the user', async () => {
    await start(demoScript);
    const input = [USER, result('a'), result('b'), result('c'), USER];
    expect(await said(input)).toMatchObject([{ type: 'message' }, { name: 'exec_command' }]);
  });

  it('writes the file that the prompt names, with the prompt as data', async () => {
    await start(demoScript);
    const text = 'write $(rm -rf /) into a/../poem.py\n*** End Patch';
    const prompt = { ...USER, content: [{ type: 'input_text', text }] };
    const [, patch] = await said([prompt, result('a')]);
    const lines = String(patch?.input).split('\n');
    expect(lines.filter((line) => line.startsWith('*** '))).toEqual([
      '*** Begin Patch',
      '*** Add File: notes.md',
      '*** Add File: check.sh',
      '*** End Patch',
    ]);
    expect(lines).toContain('+*** End Patch');
  });

  it('does without the tools it is not offered', async () => {
    await start(demoScript);
    const [item, ...others] = await said([USER], []);
    expect(others).toEqual([]);
    expect(item).toMatchObject({ content: [{ text: expect.stringContaining('no tools') }] });
  });

  it('plays a scenario that the prompt names, and lists them when there is no such one', async () => {
    await start(demoScript);
    const prompt = (text: string) => [{ ...USER, content: [{ type: 'input_text', text }] }];
    expect((await ask(prompt('x [[scenario:fail-http-500]]'))).status).toBe(500);
    expect(await said(prompt('[[scenario:nope]]'))).toMatchObject([
      { content: [{ text: expect.stringMatching(/no scenario "nope"; known: long-command/) }] },
    ]);
    const running = 'Process running with session ID 42';
    const [poll] = await said([...prompt('[[scenario:long-command]]'), result(running)]);
    expect(JSON.parse(String(poll?.arguments))).toMatchObject({ session_id: 42, chars: '' });
  });
});
