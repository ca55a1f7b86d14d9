import type { IncomingMessage, ServerResponse } from 'node:http';
import { appendEventsHandler } from '#functions/gateway/append-events/handler.ts';
import { claimRunHandler } from '#functions/gateway/claim-run/handler.ts';
import { keepBlobHandler } from '#functions/gateway/keep-blob/handler.ts';
import { renewLeaseHandler } from '#functions/gateway/renew-lease/handler.ts';
import { reportResultHandler } from '#functions/gateway/report-result/handler.ts';
import { type ApiFront, type ApiRoute, startApiFront } from '#local/api-front/index.ts';
import { inProcess, type LambdaHandler } from '#local/lambda/index.ts';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { dispatchRun, type Logger, type Timing, timingSchema } from '#shared/orchestrator/index.ts';
import { LOG_BEGINNING, type RunHead, type RunRef, readEvents } from '#shared/runs/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { openEmbeddedBlobs } from './embedded-blobs.ts';
import { openOrchestratorBench } from './orchestrator-bench.ts';
import { creationOf, queuedHead, SPECIFICATION } from './run-builders.ts';

export interface LogLine {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Answers in place of the gateway when it returns a status. */
export type Fault = (route: string) => number | undefined;

/**
 * The host gateway over a real socket, with its real handlers on the real ledger and blob store. It can go away and come
 * back on the same port, and answer single routes with a fault.
 */
export async function openHostGateway(timing: Partial<Timing> = {}) {
  const bench = await openOrchestratorBench();
  const objects = await openEmbeddedBlobs();
  const logged: LogLine[] = [];
  const note = (fields: Record<string, unknown>, message: string) => {
    logged.push({ message, fields });
  };
  const log: Logger = { info: note, warn: note, error: note };
  const deps = {
    ...bench.deps,
    log,
    timing: timingSchema.parse({ heartbeatEveryMs: 100, ...timing }),
    blobs: objects.blobs,
    vault: { read: async () => undefined },
    secretsPrefix: 'x/',
  };
  const open = async () => deps;
  const handlers: Record<string, LambdaHandler | undefined> = {
    'gateway/claim-run': claimRunHandler(open, log) as LambdaHandler,
    'gateway/append-events': appendEventsHandler(open, log) as LambdaHandler,
    'gateway/keep-blob': keepBlobHandler(open, log) as LambdaHandler,
    'gateway/renew-lease': renewLeaseHandler(open, log) as LambdaHandler,
    'gateway/report-result': reportResultHandler(open, log) as LambdaHandler,
  };
  const routes = FUNCTIONS.flatMap(({ name, trigger, timeoutMs }): ApiRoute[] => {
    const handler = handlers[name];
    if (!handler || trigger.kind !== 'http') return [];
    const invoke = inProcess({ name, timeoutMs, load: async () => handler });
    return [{ method: trigger.method, path: trigger.path, invoke }];
  });

  const startedAt = bench.deps.clock.now();
  const openedAt = performance.now();
  const calls = new Map<string, number>();
  let fault: Fault = () => undefined;
  const extra = (request: IncomingMessage, response: ServerResponse): boolean => {
    const route = request.url?.split('/').at(-1) ?? '';
    calls.set(route, (calls.get(route) ?? 0) + 1);
    const status = fault(route);
    if (status === undefined) return false;
    request.resume().on('end', () => response.writeHead(status).end('{}'));
    return true;
  };
  let front: ApiFront | undefined = await startApiFront({ routes, authorizers: {}, extra });
  const { url, port } = front;

  return {
    ...bench,
    deps,
    /** Of hosts: it goes by itself, from the time at which the bench stands. */
    hostClock: { now: () => startedAt + performance.now() - openedAt },
    objects,
    url,
    logged,
    /** Requests so far to the route that ends like this. */
    calls: (route: string) => calls.get(route) ?? 0,
    answerWith(next: Fault) {
      fault = next;
    },
    /** Refuses connections from now on. */
    async goAway() {
      await front?.close();
      front = undefined;
    },
    async comeBack() {
      front ??= await startApiFront({ routes, authorizers: {}, extra, port });
    },
    /** A run of the scripted engine, launched; answers its ticket. */
    async launch(script: readonly object[], fields: Partial<RunHead> = {}) {
      const head = queuedHead(fields);
      const config = { script } as unknown as typeof SPECIFICATION.config;
      await bench.ledger.createRun({
        ...creationOf(head),
        specification: { ...SPECIFICATION, config },
      });
      await dispatchRun(bench.deps, bench.message(head));
      const launched = bench.launches.findLast(({ ref }) => ref.runId === head.runId);
      if (!launched) throw new Error('the run was not launched');
      return { head, ticket: launched.ticket };
    },
    /** All events of a run so far. */
    async events(ref: RunRef): Promise<AgentEvent[]> {
      const events: AgentEvent[] = [];
      for (let after = LOG_BEGINNING; ; ) {
        const read = await readEvents(bench.ledger, ref, after, 500);
        events.push(...read.events.map(({ event }) => event));
        if (read.events.length === 0) return events;
        after = read.next;
      }
    },
    async close() {
      await front?.close();
      await objects.close();
      await bench.close();
    },
  };
}
export type HostGateway = Awaited<ReturnType<typeof openHostGateway>>;
