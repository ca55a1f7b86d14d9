import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionError, type ProcessTree } from '#shared/contracts/index.ts';
import {
  at,
  engineView,
  RUN_ID,
  runSummary,
  runView,
} from '#test/unit/client/support/run-samples.ts';
import { type CliStart, runProcess } from './cli-process.ts';
import { json, problem, ScriptedApi } from './scripted-api.ts';

const LIST = 'GET /v1/runs';
const GET = `GET /v1/runs/${RUN_ID}`;
const CANCEL = `POST /v1/runs/${RUN_ID}/cancel`;
const CANCEL_ALL = 'POST /v1/runs/cancel';
const ENGINES = 'GET /v1/engines';
const HEALTH = 'GET /v1/health';

const missing = engineView({
  engine: { engineId: 'zeta', protocolId: 'rpc', adapterVersion: 'v2' },
  displayName: 'Zeta',
  availability: 'unavailable',
  isDefaultProtocol: false,
  reasons: ['zeta is not installed'],
  available: Object.fromEntries(
    Object.keys(engineView().available).map((name) => [name, false]),
  ) as ReturnType<typeof engineView>['available'],
});
const healthy = { status: 'ok', version: '0.1.0', checks: [{ name: 'ledger', ok: true }] };

describe('nexusdesk', () => {
  let api: ScriptedApi;
  let cwd: string;

  beforeEach(async () => {
    api = await ScriptedApi.start();
    cwd = await mkdtemp(join(tmpdir(), 'nexusdesk-cli-'));
  });
  afterEach(async () => {
    await api.close();
    await rm(cwd, { recursive: true, force: true });
  });

  const cli = (args: readonly string[], extra: Partial<CliStart> = {}) => {
    const env = { NEXUSDESK_URL: api.url, NEXUSDESK_TOKEN: 'tok-1' };
    return runProcess({ cwd, env, ...extra, args });
  };
  const cliJson = async (args: readonly string[], extra: Partial<CliStart> = {}) => {
    const { stdout, stderr, code } = await cli([...args, '--json'], extra);
    const values = (text: string) =>
      text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as unknown] : []));
    return { code, out: values(stdout), err: values(stderr) };
  };

  describe('runs, show, cancel and engines', () => {
    it('lists runs over several pages, as many as asked for', async () => {
      const run = runSummary({ status: 'completed', endedAt: at(3_000) });
      api.on(
        LIST,
        json({ runs: [run, run], nextCursor: 'n2' }),
        json({ runs: [run, run], nextCursor: 'n4' }),
      );
      const end = await cli(['runs', '--limit', '3', '--status', 'completed']);
      const line = `${RUN_ID}  completed         ${at(0)}      3.0s  acme/pipe/v1`;
      expect(end).toMatchObject({ code: 0, stdout: `${line}\n${line}\n${line}\n`, stderr: '' });
      expect(api.seen(LIST).map(({ query }) => query)).toEqual([
        { status: 'completed', limit: '3' },
        { status: 'completed', limit: '3', cursor: 'n2' },
      ]);
      api.on(LIST, json({ runs: [run] }));
      expect(await cliJson(['runs'])).toEqual({ code: 0, out: [{ runs: [run] }], err: [] });
      api.on(LIST, json({ runs: [] }));
      expect((await cli(['runs'])).stdout).toBe('no runs\n');
    });

    it('lists the runs of several statuses, and knows which are live', async () => {
      api.on(LIST, json({ runs: [] }));
      await cli(['runs', '--status', 'live']);
      await cli(['runs', '--status', 'failed,timed_out']);
      const asked = api.seen(LIST).map(({ query }) => query.status);
      expect(asked).toEqual(['queued,starting,running,cancelling', 'failed,timed_out']);
      expect(await cli(['runs', '--status', 'live,ended'])).toMatchObject({
        code: 64,
        stderr: expect.stringContaining('"ended" is not a status'),
      });
    });

    it('HST-2 shows how it is known that nothing of a run is left', async () => {
      const processTree: ProcessTree = {
        verifiedBy: 'host',
        verifiedGoneAt: at(2_500),
        method: 'process_group',
        signals: ['SIGTERM', 'SIGKILL'],
        processesKilled: 2,
        survivors: 0,
      };
      api.on(GET, json(runView({ status: 'cancelled', endedAt: at(3_000), processTree })));
      expect((await cli(['show', RUN_ID])).stdout).toContain(
        `  processes process tree verified gone at ${at(2_500)} by the host (process group; SIGTERM, SIGKILL; 2 killed)\n`,
      );
    });

    it('shows a run with its answer and its error', async () => {
      const run = runView({
        status: 'failed',
        endedAt: at(3_000),
        usage: { outputTokens: 5 },
        error: executionError('engine_failed', 'it broke\u001b[2J', { remedy: 'try again' }),
        result: {
          schemaVersion: '1',
          status: 'failed',
          output: 'half\u001b[31m an answer',
          artifacts: [],
          usage: {},
          metadata: {},
        },
      });
      api.on(GET, json(run));
      const { stdout } = await cli(['show', RUN_ID]);
      expect(stdout.split('\n').slice(1)).toEqual([
        `  created   ${at(0)}`,
        `  ended     ${at(3_000)}`,
        '  usage     5 out',
        '  error     engine_failed: it broke',
        '            remedy  try again',
        '',
        'half an answer',
        '',
      ]);
      expect(await cliJson(['show', RUN_ID])).toEqual({ code: 0, out: [run], err: [] });
    });

    it('asks for cancellation, and with --wait exits as the run did', async () => {
      const receipt = { runId: RUN_ID, status: 'cancelling' };
      api.on(CANCEL, json(receipt, 202));
      expect(await cliJson(['cancel', RUN_ID, '--reason', 'no need'])).toEqual({
        code: 0,
        out: [receipt],
        err: [],
      });
      expect(api.seen(CANCEL)[0]?.body).toEqual({ reason: 'no need' });
      expect(await cli(['cancel', RUN_ID])).toMatchObject({ stdout: `${RUN_ID} cancelling\n` });

      const ended = runView({ status: 'cancelled', endedAt: at(1_000) });
      api.on(GET, json(runView({ status: 'cancelling' })), json(ended));
      expect(await cliJson(['cancel', RUN_ID, '--wait'])).toMatchObject({ code: 2, out: [ended] });
      api.on(CANCEL, problem(409, 'already_terminal'));
      expect(await cli(['cancel', RUN_ID])).toMatchObject({
        code: 64,
        stderr: 'error: already_terminal: scripted already_terminal\n',
      });
    });

    it('cancels all runs, again until nothing is left, and says of each what happened', async () => {
      const [one, two, three] = ['A', 'B', 'C'].map((end) => `${RUN_ID.slice(0, -1)}${end}`);
      const failed = { runId: two, outcome: 'failed', error: executionError('throttled', 'busy') };
      api.on(
        CANCEL_ALL,
        json({ runs: [{ runId: one, outcome: 'cancelled' }, failed], nextCursor: 'n2' }),
        json({ runs: [{ runId: three, outcome: 'already_ended', status: 'completed' }] }),
        json({ runs: [{ runId: two, outcome: 'cancelling' }] }),
        json({ runs: [{ runId: two, outcome: 'already_cancelling' }] }),
      );
      expect(await cli(['cancel', '--all', '--reason', 'maintenance'])).toEqual(
        expect.objectContaining({
          code: 0,
          stderr: '',
          stdout: `${one} cancelled\n${three} had ended completed\n${two} is being stopped\n`,
        }),
      );
      const body = { all: true, reason: 'maintenance' };
      expect(api.seen(CANCEL_ALL).map((request) => request.body)).toEqual([
        body,
        { ...body, cursor: 'n2' },
        body,
        body,
      ]);
    });

    it('cancels all runs of an agent, and with --wait stays until they have ended', async () => {
      api.on(
        CANCEL_ALL,
        json({ runs: [{ runId: RUN_ID, outcome: 'cancelling' }] }),
        json({ runs: [{ runId: RUN_ID, outcome: 'already_cancelling' }] }),
      );
      api.on(
        GET,
        json(runView({ status: 'cancelling' })),
        json(runView({ status: 'cancelled', endedAt: at(1_000) })),
      );
      const end = await cliJson(['cancel', '--all', '--agent', 'reviewer', '--wait']);
      expect(end).toMatchObject({
        code: 0,
        out: [{ complete: true, runs: [{ runId: RUN_ID, outcome: 'cancelling' }] }],
      });
      expect(api.seen(CANCEL_ALL)[0]?.body).toEqual({ agentId: 'reviewer' });
      expect(api.seen(GET)).toHaveLength(2);
    });

    it('does not say that all is done when something is left', async () => {
      api.on(
        CANCEL_ALL,
        json({
          runs: [
            { runId: RUN_ID, outcome: 'failed', error: executionError('internal', 'odd\u001b[2J') },
          ],
        }),
      );
      expect(await cli(['cancel', '--all'])).toMatchObject({
        code: 69,
        stdout: `${RUN_ID} could not be cancelled: odd\n`,
        stderr: expect.stringContaining('not_all_cancelled: there are runs left'),
      });
      api.on(CANCEL_ALL, json({ runs: [] }));
      expect(await cli(['cancel', '--all'])).toMatchObject({ code: 0, stdout: 'no runs\n' });
    });

    it('shows which engines there are and what each can do', async () => {
      const list = { engines: [engineView(), missing] };
      api.on(ENGINES, json(list));
      const { stdout, code } = await cli(['engines']);
      const lines = stdout.split('\n');
      expect(code).toBe(0);
      expect(lines.slice(0, 5)).toEqual([
        '✓ acme/pipe/v1  Acme Agent · default protocol · versions >=1 <2',
        '✗ zeta/rpc/v2  Zeta · versions >=1 <2',
        '    zeta is not installed',
        '',
        '                    acme/pipe  zeta/rpc',
      ]);
      expect(lines).toContain('streaming           ✓          ○');
      expect(lines).toContain('session_resume      ○          ○');
      expect(lines).toContain('human_approval      ·          ·');
      expect(await cliJson(['engines'])).toEqual({ code: 0, out: [list], err: [] });
    });
  });

  describe('errors', () => {
    it('wrong usage is refused before anything is sent, in the form that was asked for', async () => {
      const args = ['run', '-e', 'acme', 'hi', '--timeout', '12px'];
      const { code, out, err } = await cliJson(args);
      expect({ code, out }).toEqual({ code: 64, out: [] });
      const error = expect.objectContaining({ code: 'usage', field: '--timeout' });
      expect(err).toEqual([{ error }]);
      const human = await cli(args);
      expect(human).toMatchObject({ code: 64, stdout: '' });
      expect(human.stderr).toContain('"12px" is not a duration from 1s to 1d\n  field   --timeout');
      expect(api.requests).toEqual([]);
    });

    it.each([
      [401, 'unauthenticated', 77],
      [404, 'run_not_found', 64],
      [429, 'quota_exceeded', 69],
    ])('an API that says %i %s ends in %i', async (status, code, exitCode) => {
      const fields = { field: 'f', remedy: 'do this', requestId: 'req-1' };
      api.on(GET, problem(status, code, fields, { 'retry-after': '3600' }));
      const machine = await cliJson(['show', RUN_ID]);
      const error = { code, message: `scripted ${code}`, status, ...fields };
      expect(machine).toEqual({ code: exitCode, out: [], err: [{ error }] });
      const human = await cli(['show', RUN_ID]);
      expect(human.stderr).toBe(
        `error: ${code}: scripted ${code}\n  field   f\n  remedy  do this\n  request req-1\n`,
      );
      expect(api.requests).toHaveLength(2);
    });

    it('another service on that address ends in 70', async () => {
      api.on(GET, (response) => void response.end('<html>hello</html>'));
      const { code, err } = await cliJson(['show', RUN_ID]);
      expect(code).toBe(70);
      expect(err).toEqual([{ error: expect.objectContaining({ code: 'unexpected_reply' }) }]);
    });

    it('an address where nobody answers ends in 69, with what to do', async () => {
      const env = { NEXUSDESK_URL: 'http://127.0.0.1:9', NEXUSDESK_TOKEN: 'tok-1' };
      const { code, err } = await cliJson(['show', RUN_ID], { env });
      expect(code).toBe(69);
      const remedy = expect.stringContaining('npm start');
      expect(err).toEqual([
        { error: expect.objectContaining({ code: 'connection_failed', remedy }) },
      ]);
    });

    it('B131 never prints the token', async () => {
      api.on(GET, problem(401, 'unauthenticated'));
      const env = { NEXUSDESK_URL: api.url, NEXUSDESK_TOKEN: 'tok-secret' };
      for (const args of [['show', RUN_ID], ['doctor'], ['show', RUN_ID, '--json']]) {
        const { stdout, stderr } = await cli(args, { env });
        expect(stdout + stderr).not.toContain('tok-secret');
      }
    });
  });

  describe('help', () => {
    it('is shown on stdout when asked for, and on stderr when there is no command', async () => {
      const asked = await cli(['--help']);
      expect(asked).toMatchObject({ code: 0, stderr: '' });
      expect(asked.stdout).toContain('Exit codes: 0 completed');
      const bare = await cli([]);
      expect(bare).toMatchObject({ code: 64, stdout: '' });
      expect(bare.stderr).toContain('Usage: nexusdesk');
      expect(bare.stderr).not.toContain('error:');
      expect((await cli(['run', '--help'])).stdout).toContain('--idempotency-key <key>');
    });
  });

  describe('the connection file', () => {
    it('is found above, and refused when others can read it', async () => {
      const file = join(cwd, '.nexusdesk/connection.json');
      await mkdir(join(cwd, '.nexusdesk'));
      await mkdir(join(cwd, 'below'));
      await writeFile(file, JSON.stringify({ url: api.url, token: 'of-file' }), { mode: 0o600 });
      api.on(LIST, json({ runs: [] }));
      const here = { env: {}, cwd: join(cwd, 'below') };
      expect((await cli(['runs'], here)).code).toBe(0);
      expect(api.requests[0]?.headers.authorization).toBe('Bearer of-file');

      await chmod(file, 0o644);
      const refused = await cli(['runs'], here);
      expect(refused.code).toBe(77);
      expect(refused.stderr).toContain('open to other users (mode 644)');
      expect(refused.stderr).toContain('chmod 600');
      expect(api.requests).toHaveLength(1);
    });
  });

  describe('doctor', () => {
    const tokenOf = (exp: number) =>
      `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.x`;
    const checksOf = async (env: Readonly<Record<string, string>> = {}) => {
      const all = { NEXUSDESK_URL: api.url, NEXUSDESK_TOKEN: 'opaque', ...env };
      const { code, out } = await cliJson(['doctor'], { env: all });
      const [report] = out as [
        { ok: boolean; checks: { name: string; ok: boolean; detail: string; remedy?: string }[] },
      ];
      const check = (name: string) => report.checks.find((one) => one.name === name);
      return { code, ok: report.ok, check, names: report.checks.map(({ name }) => name) };
    };

    beforeEach(() => {
      api.on(HEALTH, json(healthy)).on(LIST, json({ runs: [] }));
      api.on(ENGINES, json({ engines: [engineView()] }));
    });

    it('finds everything well', async () => {
      const exp = Math.floor(Date.now() / 1000) + 3_600;
      const { code, ok, check, names } = await checksOf({ NEXUSDESK_TOKEN: tokenOf(exp) });
      expect({ code, ok }).toEqual({ code: 0, ok: true });
      expect(names).toEqual(['node', 'connection', 'api', 'clock', 'token', 'engines']);
      expect(check('token')?.detail).toMatch(/^accepted; expires in (59m|1h)/);
      const human = await cli(['doctor']);
      expect(human.code).toBe(0);
      expect(
        human.stdout
          .split('\n')
          .filter(Boolean)
          .every((line) => line.startsWith('✓')),
      ).toBe(true);
    });

    it('names what is wrong and what to do, one by one', async () => {
      const ledger = { name: 'ledger', ok: false };
      const date = new Date(Date.now() + 600_000).toUTCString();
      api.on(HEALTH, json({ ...healthy, status: 'degraded', checks: [ledger] }, 503, { date }));
      api.on(LIST, problem(401, 'unauthenticated'));
      api.on(ENGINES, json({ engines: [missing] }));
      const { code, ok, check } = await checksOf({ NEXUSDESK_TOKEN: tokenOf(1_000_000_000) });
      expect({ code, ok }).toEqual({ code: 1, ok: false });
      expect(check('api')).toMatchObject({
        ok: false,
        detail: 'version 0.1.0 is degraded: ledger',
      });
      expect(check('clock')?.detail).toMatch(/^this machine is .* behind the API$/);
      expect(check('token')).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/^expired .* ago$/),
      });
      expect(check('engines')).toMatchObject({
        ok: false,
        detail: 'none available · zeta/rpc/v2: zeta is not installed',
        remedy: expect.stringContaining('npm start -- engines install zeta'),
      });
      for (const name of ['api', 'clock', 'token', 'engines'])
        expect(check(name)?.remedy).toBeTruthy();
    });

    it('accepts a clock that is ahead by less than a minute, and tells when it is more', async () => {
      api.on(HEALTH, json(healthy, 200, { date: new Date(Date.now() - 30_000).toUTCString() }));
      expect((await checksOf()).check('clock')?.ok).toBe(true);
      api.on(HEALTH, json(healthy, 200, { date: new Date(Date.now() - 300_000).toUTCString() }));
      expect((await checksOf()).check('clock')?.detail).toContain('ahead of the API');
    });

    it('stays well with one engine of two, and still tells about the other', async () => {
      api.on(ENGINES, json({ engines: [engineView(), missing] }));
      const { code, check } = await checksOf();
      expect(code).toBe(0);
      expect(check('engines')).toMatchObject({
        ok: true,
        detail: 'acme/pipe/v1 available · zeta/rpc/v2: zeta is not installed',
        remedy: expect.stringContaining('zeta'),
      });
    });

    it('stops where nothing more can be looked at', async () => {
      const nobody = await checksOf({ NEXUSDESK_URL: 'http://127.0.0.1:9' });
      expect(nobody).toMatchObject({ code: 1, names: ['node', 'connection', 'api'] });
      expect(nobody.check('api')?.remedy).toContain('npm start');
      const unknown = await checksOf({ NEXUSDESK_URL: '', NEXUSDESK_TOKEN: '' });
      expect(unknown).toMatchObject({ code: 1, names: ['node', 'connection'] });
    });
  });
});
