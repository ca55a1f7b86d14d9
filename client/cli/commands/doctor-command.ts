import type { EngineView } from '#shared/contracts/index.ts';
import { tripleName } from '#shared/contracts/index.ts';
import { type HealthProbe, NexusDeskClient } from '../../nexusdesk-client.ts';
import { EXIT, reportOf } from '../cli-error.ts';
import { type Connection, findConnection } from '../connection.ts';
import { plainLine } from '../terminal-text.ts';
import { tookText } from '../timeline-format.ts';
import type { CommandContext } from './command-context.ts';

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do about it. */
  readonly remedy?: string;
}

const OLDEST_NODE = 24;
/** Beyond this, tokens count as expired or not yet valid. */
const MAX_SKEW_MS = 60_000;
const NEW_TOKEN =
  'start the local stack again (`npm start`), or set NEXUSDESK_TOKEN to a valid token';

/** Looks at everything between this command and a run, each with what to do about it. */
export async function doctorCommand(context: CommandContext): Promise<number> {
  const { output } = context;
  const checks: Check[] = [];
  for await (const check of examine(context)) {
    checks.push(check);
    const symbol = check.ok ? output.paint('green', '✓') : output.paint('red', '✗');
    output.line(`${symbol} ${check.name.padEnd(11)} ${plainLine(check.detail, 500)}`);
    if (check.remedy) output.line(`  ${' '.repeat(11)} → ${plainLine(check.remedy, 500)}`);
  }
  const ok = checks.every((check) => check.ok);
  output.value({ ok, checks });
  return ok ? EXIT.ok : EXIT.unwell;
}

/** In the order in which they depend on each other; what cannot be looked at any more is left out. */
async function* examine({ host }: CommandContext): AsyncGenerator<Check, void, undefined> {
  yield nodeCheck(host.nodeVersion);
  let connection: Connection;
  try {
    connection = await findConnection(host);
  } catch (error) {
    yield failed('connection', error);
    return;
  }
  yield { name: 'connection', ok: true, detail: `${connection.url} from ${connection.source}` };
  const { url: baseUrl, token } = connection;
  const client = new NexusDeskClient({ baseUrl, token, fetch: host.fetch, clock: host.clock });

  let probe: HealthProbe;
  try {
    probe = await client.probeHealth();
  } catch (error) {
    yield failed('api', error);
    return;
  }
  yield healthCheck(probe);
  yield clockCheck(probe);
  yield await tokenCheck(client, connection, host.clock.now());
  yield await enginesCheck(client);
}

function nodeCheck(version: string): Check {
  const ok = Number(version.split('.')[0]) >= OLDEST_NODE;
  const check = { name: 'node', ok, detail: `Node ${version}` };
  if (ok) return check;
  return {
    ...check,
    remedy: `use Node ${OLDEST_NODE} or newer; \`npm run nexusdesk -- …\` brings its own`,
  };
}

function healthCheck({ health, sentAtMs, receivedAtMs }: HealthProbe): Check {
  const bad = health.checks.filter((check) => !check.ok);
  if (health.status === 'ok') {
    const took = tookText(receivedAtMs - sentAtMs);
    return { name: 'api', ok: true, detail: `version ${health.version} answered in ${took}` };
  }
  const parts = bad.map((check) => `${check.name}${check.detail ? ` (${check.detail})` : ''}`);
  return {
    name: 'api',
    ok: false,
    detail: `version ${health.version} is degraded: ${parts.join(', ') || 'it does not say why'}`,
    remedy: 'look at the logs of the API; the local stack is started again with `npm start`',
  };
}

function clockCheck({ serverTimeMs, sentAtMs, receivedAtMs }: HealthProbe): Check {
  if (serverTimeMs === undefined) {
    return { name: 'clock', ok: true, detail: 'the API does not tell its time' };
  }
  // The server's second lies somewhere between sending and receiving; only what is outside of that is skew.
  const behindMs = Math.max(0, serverTimeMs - receivedAtMs);
  const aheadMs = Math.max(0, sentAtMs - (serverTimeMs + 1_000));
  const skewMs = Math.max(behindMs, aheadMs);
  if (skewMs <= MAX_SKEW_MS) {
    return { name: 'clock', ok: true, detail: 'agrees with the API' };
  }
  return {
    name: 'clock',
    ok: false,
    detail: `this machine is ${tookText(skewMs)} ${behindMs > 0 ? 'behind' : 'ahead of'} the API`,
    remedy:
      'set the clock (switch on network time); until then tokens count as expired or not yet valid',
  };
}

async function tokenCheck(
  client: NexusDeskClient,
  connection: Connection,
  nowMs: number,
): Promise<Check> {
  try {
    await client.listRunsPage({ limit: 1 });
  } catch (error) {
    const check = failed('token', error);
    const expiredAtMs = await expiryOf(connection);
    if (expiredAtMs === undefined || expiredAtMs > nowMs) return check;
    const detail = `expired ${tookText(nowMs - expiredAtMs)} ago`;
    return { name: 'token', ok: false, detail, remedy: NEW_TOKEN };
  }
  const expiresAtMs = await expiryOf(connection);
  const detail =
    expiresAtMs === undefined
      ? 'accepted; does not say when it expires'
      : `accepted; expires in ${tookText(Math.max(0, expiresAtMs - nowMs))}`;
  return { name: 'token', ok: true, detail };
}

async function enginesCheck(client: NexusDeskClient): Promise<Check> {
  let engines: readonly EngineView[];
  try {
    engines = (await client.listEngines()).engines;
  } catch (error) {
    return failed('engines', error);
  }
  const usable = engines.filter((view) => view.availability === 'available');
  const missing = engines.filter((view) => view.availability !== 'available');
  const names = usable.map((view) => tripleName(view.engine)).join(', ');
  const reasons = missing.map(
    (view) => `${tripleName(view.engine)}: ${view.reasons.join('; ') || 'unavailable'}`,
  );
  const ok = usable.length > 0;
  const detail = [ok ? `${names} available` : 'none available', ...reasons].join(' · ');
  if (missing.length === 0 && ok) return { name: 'engines', ok, detail };
  const example = missing[0]?.engine.engineId ?? '<name>';
  return { name: 'engines', ok, detail, remedy: installRemedy(example) };
}

function installRemedy(engineId: string): string {
  return `install one where the API runs; with the local stack: \`npm start -- engines install ${engineId}\``;
}

function failed(name: string, error: unknown): Check {
  const { message, remedy } = reportOf(error);
  return { name, ok: false, detail: message, ...(remedy ? { remedy } : {}) };
}

/** What the connection file or the token itself says; undefined when neither does. */
async function expiryOf(connection: Connection): Promise<number | undefined> {
  if (connection.expiresAtMs !== undefined) return connection.expiresAtMs;
  const payload = (await connection.token()).split('.')[1] ?? '';
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    const { exp } = claims as { exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : undefined;
  } catch {
    // Not a JWT: the API may use opaque tokens.
    return undefined;
  }
}
