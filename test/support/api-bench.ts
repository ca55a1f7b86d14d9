import { generateKeyPair, SignJWT } from 'jose';
import { type ClientOptions, NexusDeskClient } from '#client/nexusdesk-client.ts';
import { authorizeRequestHandler } from '#functions/api/authorize-request/handler.ts';
import { cancelRunHandler } from '#functions/api/cancel-run/handler.ts';
import { cancelRunsHandler } from '#functions/api/cancel-runs/handler.ts';
import { getRunHandler } from '#functions/api/get-run/handler.ts';
import { listRunEventsHandler } from '#functions/api/list-run-events/handler.ts';
import { listRunsHandler } from '#functions/api/list-runs/handler.ts';
import { streamRunEventsHandler } from '#functions/api/stream-run-events/handler.ts';
import { streamifyResponse } from '#functions/kit/response-stream.ts';
import { type ApiRoute, startApiFront } from '#local/api-front/index.ts';
import { inProcess, type LambdaHandler } from '#local/lambda/index.ts';
import { createAccessTokenVerifier } from '#shared/auth/index.ts';
import { systemTimerClock, type TimerClock } from '#shared/kit/timer-clock.ts';
import { openLogFeeds } from '#shared/orchestrator/index.ts';
import type { RunLedger } from '#shared/runs/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { openOrchestratorBench } from './orchestrator-bench.ts';

const ISSUER = 'https://issuer.test/';
const AUDIENCE = 'nexusdesk-test';

/**
 * The public API over real sockets: the real handlers behind the local front, on the orchestrator bench. `clock` moves
 * the streams and says when tokens end; `ledgerFor` may stand between the streams and the ledger.
 */
export async function openApiBench(
  options: { clock?: TimerClock; ledgerFor?: (ledger: RunLedger) => RunLedger } = {},
) {
  const bench = await openOrchestratorBench();
  const { clock = systemTimerClock } = options;
  const { log } = bench.deps;
  const ledger = options.ledgerFor?.(bench.ledger) ?? bench.ledger;
  const issuer = await openIssuer();
  const handlers: Record<string, (() => LambdaHandler) | undefined> = {
    'api/get-run': () => getRunHandler({ ledger, log }),
    'api/list-runs': () => listRunsHandler({ ledger, log }),
    'api/list-run-events': () => listRunEventsHandler({ ledger, log }),
    'api/cancel-run': () => cancelRunHandler({ ...bench.deps, ledger }),
    'api/cancel-runs': () => cancelRunsHandler({ ...bench.deps, ledger }),
    'api/stream-run-events': () =>
      streamifyResponse(
        streamRunEventsHandler({
          ledger,
          clock,
          log,
          feeds: openLogFeeds({ ledger, clock }),
          random: () => 0.5,
        }),
      ),
  };
  const failures: string[] = [];
  const invokerOf = (name: string, make: () => LambdaHandler, timeoutMs = 15 * 60_000) =>
    inProcess({
      name,
      timeoutMs,
      load: async () => make(),
      onError: (_name, _id, error) => failures.push(error.errorMessage),
    });
  const routes = FUNCTIONS.flatMap(({ name, trigger }): ApiRoute[] => {
    const make = handlers[name];
    if (!make || trigger.kind !== 'http') return [];
    const { method, path, streaming } = trigger;
    return [{ method, path, streaming, auth: 'user', invoke: invokerOf(name, make) }];
  });
  const front = await startApiFront({
    routes,
    authorizers: {
      user: invokerOf('authorizer', () =>
        authorizeRequestHandler({ log, verify: issuer.verifier(() => clock.now()) }),
      ),
    },
  });
  const tokenFor = (tenantId: string, lifeMs = 3_600_000) =>
    issuer.issue(tenantId, clock.now() + lifeMs);
  return {
    ...bench,
    url: front.url,
    /** Messages of invocations that failed. */
    failures,
    tokenFor,
    /** A client of the tenant that all runs of the bench belong to, or of another. */
    apiClient: async (tenantId = 'acme', more: Partial<ClientOptions> = {}) =>
      new NexusDeskClient({ baseUrl: front.url, token: await tokenFor(tenantId), ...more }),
    async close() {
      await front.close();
      await bench.close();
    },
  };
}
export type ApiBench = Awaited<ReturnType<typeof openApiBench>>;

async function openIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA');
  return {
    verifier: (now: () => number) =>
      createAccessTokenVerifier({
        issuer: ISSUER,
        audience: AUDIENCE,
        keys: async () => publicKey,
        now,
      }),
    issue: (tenantId: string, expiresAtMs: number) =>
      new SignJWT({ tenant_id: tenantId })
        .setProtectedHeader({ alg: 'EdDSA' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject('tester')
        .setExpirationTime(Math.floor(expiresAtMs / 1000))
        .sign(privateKey),
  };
}
