import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionError } from '#shared/contracts/index.ts';
import {
  engineView,
  event,
  handle,
  message,
  RUN_ID,
  runView,
  sse,
} from '#test/unit/client/support/run-samples.ts';
import { CliProcess, type CliStart, runProcess } from './cli-process.ts';
import {
  type Act,
  cutStream,
  json,
  openStream,
  problem,
  ScriptedApi,
  stream,
} from './scripted-api.ts';

const CREATE = 'POST /v1/runs';
const ENGINES = 'GET /v1/engines';
const STREAM = `GET /v1/runs/${RUN_ID}/stream`;
const CANCEL = `POST /v1/runs/${RUN_ID}/cancel`;

const completed = event(3, 'run.completed', { usage: { outputTokens: 7 } });
const told = [message(1, 'first words'), message(2, 'last words'), completed];
const cancelling = json({ runId: RUN_ID, status: 'cancelling' }, 202);
const withoutTimes = (text: string) => text.replaceAll(/^\d\d:\d\d\.\d/gm, 'mm:ss.t').split('\n');

describe('nexusdesk run and tail', () => {
  let api: ScriptedApi;
  let cwd: string;
  const live: CliProcess[] = [];

  beforeEach(async () => {
    api = await ScriptedApi.start();
    cwd = await mkdtemp(join(tmpdir(), 'nexusdesk-cli-'));
    api.on(CREATE, json(handle, 202)).on(STREAM, stream(...told.map(sse)));
  });
  afterEach(async () => {
    for (const cli of live.splice(0)) {
      cli.child.kill('SIGKILL');
      await cli.ended;
    }
    await api.close();
    await rm(cwd, { recursive: true, force: true });
  });

  const options = (args: readonly string[], extra: Partial<CliStart> = {}): CliStart => {
    const env = { NEXUSDESK_URL: api.url, NEXUSDESK_TOKEN: 'tok-1', ...extra.env };
    return { cwd, ...extra, args, env };
  };
  const cli = (args: readonly string[], extra?: Partial<CliStart>) =>
    runProcess(options(args, extra));
  const start = (args: readonly string[]) => {
    const process = new CliProcess(options(args));
    live.push(process);
    return process;
  };
  const run = ['run', '-e', 'acme'] as const;

  it('API-3 starts a run and follows it to its end', async () => {
    const end = await cli([
      ...['run', 'say', 'hello', '--engine', 'acme', '--protocol', 'pipe', '--timeout', '10m'],
      ...['--config', '{"model":"m-1"}', '--set', 'turns=5', '--idempotency-key', 'key-1'],
    ]);
    expect(end.stderr).toBe('');
    expect(withoutTimes(end.stdout)).toEqual([
      `run ${RUN_ID}`,
      'mm:ss.t » first words',
      'mm:ss.t » last words',
      'mm:ss.t ✓ completed · 3.0s · 7 out',
      '',
    ]);
    expect(end.code).toBe(0);
    const [request] = api.seen(CREATE);
    expect(request?.headers['idempotency-key']).toBe('key-1');
    expect(request?.body).toEqual({
      engine: { id: 'acme', protocol: 'pipe' },
      input: { prompt: 'say hello' },
      config: { model: 'm-1', turns: 5 },
      timeoutMs: 600_000,
    });
  });

  it('needs no engine to be named where only one can be used', async () => {
    const other = { ...engineView().engine, engineId: 'zeta' };
    const missing = engineView({ engine: other, availability: 'unavailable' });
    api.on(ENGINES, json({ engines: [missing, engineView()] }));
    expect((await cli(['run', 'hi'])).code).toBe(0);
    expect(api.seen(CREATE)[0]?.body).toMatchObject({ engine: { id: 'acme' } });

    api.on(ENGINES, json({ engines: [engineView(), engineView({ engine: other })] }));
    const several = await cli(['run', 'hi']);
    expect(several.code).toBe(64);
    expect(several.stderr).toContain('choose with --engine: acme, zeta');
    api.on(ENGINES, json({ engines: [missing] }));
    expect((await cli(['run', 'hi'])).code).toBe(69);
    expect(api.seen(CREATE)).toHaveLength(1);
  });

  it('takes the prompt from a file or from stdin', async () => {
    await writeFile(join(cwd, 'p.txt'), 'from a file\n');
    expect((await cli([...run, '--file', 'p.txt'])).code).toBe(0);
    expect((await cli([...run, '-'], { input: 'from stdin é\n' })).code).toBe(0);
    const prompts = api.seen(CREATE).map(({ body }) => (body as { input: unknown }).input);
    expect(prompts).toEqual([{ prompt: 'from a file\n' }, { prompt: 'from stdin é\n' }]);
  });

  it('B163 does not wait for a stdin that stays open when the prompt is on the command line', async () => {
    expect((await start([...run, 'hi']).ended).code).toBe(0);
  });

  it('with --json prints the events, one to a line, and nothing else', async () => {
    const texts = ['\u001b[2J\u009b1m\u2028', '"quoted"\n{"eventType":"run.failed"}'];
    const events = [message(1, texts[0]!), message(2, texts[1]!), completed];
    api.on(STREAM, cutStream(sse(events[0]!)), stream(...events.map(sse)));
    for (const args of [
      [...run, '--json', 'hi'],
      ['tail', RUN_ID, '--json'],
    ]) {
      api.on(STREAM, cutStream(sse(events[0]!)), stream(...events.map(sse)));
      const end = await cli(args);
      const lines = end.stdout.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line))).toEqual(events);
      expect(end.stdout).toMatch(/^[\n\u0020-\u007e]*$/);
      expect(end).toMatchObject({ stderr: '', code: 0 });
    }
  });

  it('with --detach returns as soon as the run is accepted', async () => {
    const human = await cli([...run, '--detach', 'hi']);
    expect(human).toMatchObject({ code: 0, stderr: '' });
    expect(human.stdout.split('\n')[0]).toBe(`${RUN_ID} accepted for acme/pipe/v1`);
    const machine = await cli(['--json', ...run, '-d', 'hi']);
    expect(JSON.parse(machine.stdout)).toEqual(handle);
    expect(api.seen(STREAM)).toEqual([]);
  });

  it.each([
    ['completed', 0],
    ['failed', 1],
    ['cancelled', 2],
    ['timed_out', 3],
    ['budget_exhausted', 4],
  ] as const)('B128 exits as the run did: %s is %i', async (status, code) => {
    const payload = { error: executionError('internal', 'why'), usage: {} };
    const last =
      status === 'completed'
        ? event(1, 'run.completed', { usage: {} })
        : event(1, `run.${status}`, payload);
    api.on(STREAM, stream(sse(last)));
    expect((await cli(['tail', RUN_ID])).code).toBe(code);
  });

  it('B116 tells the outcome of a run whose final event is before the cursor', async () => {
    const endedAt = runView().deadlineAt;
    api.on(STREAM, stream());
    api.on(`GET /v1/runs/${RUN_ID}/events`, json({ events: [], nextCursor: 'c9', complete: true }));
    api.on(`GET /v1/runs/${RUN_ID}`, json(runView({ status: 'failed', endedAt })));
    const end = await cli(['tail', RUN_ID, '--cursor', 'c9']);
    expect(end).toMatchObject({ code: 1, stdout: '30:00.0 ✗ failed · 30m 00s\n' });
    expect(api.seen(STREAM)[0]?.query).toEqual({ cursor: 'c9' });
  });

  it('lets no engine text reach the terminal as anything but text', async () => {
    api.on(
      STREAM,
      stream(
        sse(message(1, '\u001b]0;t\u0007\u001b[2Jhi\rX\u009b1m')),
        sse(message(2, 'b')),
        sse(completed),
      ),
    );
    const end = await cli(['tail', RUN_ID], { env: { FORCE_COLOR: '0' } });
    expect(end.stdout).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*$/);
    expect(end.stdout).toContain('» hiX\n');
  });

  it.each([
    ['a pipe', {}, false],
    ['a pipe that is forced', { FORCE_COLOR: '1' }, true],
    ['NO_COLOR', { NO_COLOR: '1' }, false],
  ] as const)('colours for %s: %j', async (_name, env, colored) => {
    const end = await cli(['tail', RUN_ID], { env });
    expect(end.stdout.includes('\u001b[')).toBe(colored);
    expect(end.code).toBe(0);
  });

  it('ends quietly when its reader has gone', async () => {
    const goOn = Promise.withResolvers<void>();
    api.on(STREAM, async (response) => {
      openStream(response);
      response.write(sse(told[0]!));
      await goOn.promise;
      response.end(told.slice(1).map(sse).join(''));
    });
    const tail = start(['tail', RUN_ID, '--json']);
    await tail.shows('stdout', 'first words');
    tail.child.stdout.destroy();
    goOn.resolve();
    expect(await tail.ended).toMatchObject({ code: 141, stderr: '' });
  });

  describe('Ctrl-C', () => {
    let connected: PromiseWithResolvers<(lastWords: string) => void>;
    /** Sends the first event, and ends with what the test then hands over. */
    const follow: Act = (response) => {
      openStream(response);
      response.write(sse(told[0]!));
      connected.resolve((lastWords) => response.end(lastWords));
    };
    beforeEach(() => {
      connected = Promise.withResolvers();
      api.on(STREAM, follow).on(CANCEL, cancelling);
    });
    const cancelled = sse(event(2, 'run.cancelled', { usage: {} }));

    it('cancels the run, follows it to its end, and exits with 130', async () => {
      const process = start([...run, 'hi']);
      await process.shows('stdout', 'first words');
      process.interrupt();
      const request = await api.arrival(CANCEL);
      expect(request.body).toEqual({ reason: 'interrupted at the terminal' });
      (await connected.promise)(cancelled);
      const end = await process.ended;
      expect(end).toMatchObject({ code: 130, signal: null });
      expect(end.stdout).toContain('■ cancelled');
      expect(end.stderr).toBe('cancelling the run; press Ctrl-C again to leave it to itself\n');
    });

    it('exits as the run did when that was faster', async () => {
      api.on(CANCEL, problem(409, 'already_terminal'));
      const process = start([...run, 'hi']);
      await process.shows('stdout', 'first words');
      process.interrupt();
      await api.arrival(CANCEL);
      (await connected.promise)(told.slice(1).map(sse).join(''));
      expect(await process.ended).toMatchObject({ code: 0 });
    });

    it('leaves the run to itself the second time', async () => {
      const process = start([...run, '--json', 'hi']);
      await process.shows('stdout', 'first words');
      process.interrupt();
      await api.arrival(CANCEL);
      process.interrupt();
      const end = await process.ended;
      expect(end).toMatchObject({ code: 130, signal: null });
      const lines = end.stderr
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown);
      expect(lines).toEqual([
        { notice: { code: 'cancelling', message: expect.any(String) } },
        { error: { code: 'interrupted', message: expect.stringContaining(`tail ${RUN_ID}`) } },
      ]);
      expect(JSON.parse(end.stdout)).toEqual(told[0]);
    });

    it('cancels a run that is accepted only afterwards', async () => {
      const accept = Promise.withResolvers<void>();
      api.on(CREATE, async (response, request) => {
        await accept.promise;
        await json(handle, 202)(response, request);
      });
      const process = start([...run, '--detach', 'hi']);
      await api.arrival(CREATE);
      process.interrupt();
      await process.shows('stderr', 'cancelling');
      accept.resolve();
      await api.arrival(CANCEL);
      (await connected.promise)(cancelled);
      expect(await process.ended).toMatchObject({ code: 130 });
    });

    it('says how to find a run that may have been accepted', async () => {
      api.on(CREATE, () => undefined);
      const process = start([...run, '--idempotency-key', 'key-7', 'hi']);
      await api.arrival(CREATE);
      process.interrupt();
      await process.shows('stderr', 'cancelling');
      process.interrupt();
      const end = await process.ended;
      expect(end.code).toBe(130);
      expect(end.stderr).toContain('--idempotency-key key-7');
      expect(api.seen(CANCEL)).toEqual([]);
    });

    it('while following with tail leaves the run alone', async () => {
      const process = start(['tail', RUN_ID]);
      await process.shows('stdout', 'first words');
      process.interrupt();
      const end = await process.ended;
      expect(end).toMatchObject({ code: 130, signal: null });
      expect(end.stderr).toContain('left to itself');
      expect(api.seen(CANCEL)).toEqual([]);
    });
  });
});
