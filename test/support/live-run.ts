import type { ExecutionScope } from '#shared/auth/index.ts';
import type { ExecutionResult, NewEvent } from '#shared/contracts/index.ts';
import {
  acceptHost,
  appendEvents,
  dispatchRun,
  renewLease,
  reportResult,
} from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import type { OrchestratorBench } from './orchestrator-bench.ts';
import { completedResult } from './run-builders.ts';

type Bench = Pick<OrchestratorBench, 'deps' | 'accept' | 'message' | 'launches'>;

/** A run that is running, and its host's side of the gateway: what a host says, as it says it. */
export async function startLiveRun(bench: Bench, fields: Partial<RunHead> = {}) {
  const head = await bench.accept(fields);
  await dispatchRun(bench.deps, bench.message(head));
  return claimRun(bench, head);
}

/** The host of the newest launch of this run reports. */
export async function claimRun(bench: Bench, head: RunHead) {
  const launch = bench.launches.findLast(({ ref }) => ref.runId === head.runId);
  const { deps } = bench;
  const claimed = await acceptHost(
    { ...deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
    launch?.ticket ?? '',
    { hostInstanceId: 'host-live', hostVersion: '1', sandbox: 'none' },
  );
  const scope: ExecutionScope = deps.tokens.verifyExecutionToken(claimed.executionToken);
  let { cursor } = claimed;
  let next = 1;
  return {
    head,
    scope,
    async append(...events: NewEvent[]) {
      const batch = { firstProducerSequence: next, events };
      const reply = await appendEvents(deps, scope, { cursor, batch });
      cursor = reply.cursor;
      next += events.length;
      return reply;
    },
    heartbeat: () => renewLease(deps, scope),
    end: (result: Partial<ExecutionResult> = {}, ...events: NewEvent[]) =>
      reportResult(deps, scope, {
        cursor,
        batch: { firstProducerSequence: next, events },
        result: completedResult(result),
      }),
  };
}
export type LiveRun = Awaited<ReturnType<typeof startLiveRun>>;
