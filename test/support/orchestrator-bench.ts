import { createExecutionTokens } from '#shared/auth/index.ts';
import type { LaunchMessage } from '#shared/contracts/index.ts';
import { engineRegistry } from '#shared/engines/index.ts';
import {
  type DispatchDeps,
  type LaunchOutcome,
  type LaunchRequest,
  type Logger,
  readTaskStop,
  type TaskSight,
  timingSchema,
} from '#shared/orchestrator/index.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, TaskState } from '#shared/runs/index.ts';
import { openEmbeddedTable } from './embedded-table.ts';
import { NOON, queuedEvent, queuedHead, SPECIFICATION } from './run-builders.ts';

const silent: Logger = { info() {}, warn() {}, error() {} };

/**
 * The orchestrator's use cases on the real ledger, with a queue and a control plane that only remember what they were
 * asked, and a clock that the test moves.
 */
export async function openOrchestratorBench() {
  const embedded = await openEmbeddedTable();
  let now = Date.parse(NOON);
  const clock = { now: () => now };
  const ledger = openDynamoRunLedger(embedded.table, clock);
  const sent: { message: LaunchMessage; delayMs: number }[] = [];
  const launches: LaunchRequest[] = [];
  const stops: string[] = [];
  const states = new Map<string, TaskState>();
  const stopped = new Map<string, Parameters<typeof readTaskStop>[0]>();
  let nextLaunch: ((request: LaunchRequest) => Promise<LaunchOutcome>) | undefined;
  const taskOf = (request: Pick<LaunchRequest, 'ref' | 'epoch'>) =>
    `arn:task/${request.ref.runId}/${request.epoch}`;

  const sight = (taskArn: string): TaskSight => {
    const state = states.get(taskArn) ?? 'missing';
    return {
      taskArn,
      state,
      ...(state === 'stopped' ? { stop: readTaskStop(stopped.get(taskArn) ?? {}) } : {}),
    };
  };

  const deps: DispatchDeps = {
    ledger,
    clock,
    timing: timingSchema.parse({}),
    registry: engineRegistry,
    deployed: [],
    tokens: createExecutionTokens('bench-secret', clock.now),
    log: silent,
    queue: {
      async send(message, options = {}) {
        sent.push({ message, delayMs: options.delayMs ?? 0 });
      },
    },
    launcher: {
      async launch(request) {
        launches.push(request);
        if (nextLaunch) return nextLaunch(request);
        states.set(taskOf(request), 'running');
        return { outcome: 'launched', taskArn: taskOf(request) };
      },
      async stop(taskArn) {
        stops.push(taskArn);
      },
      async look(taskArns) {
        return taskArns.map(sight);
      },
      async find(ref, epoch) {
        const taskArn = taskOf({ ref, epoch });
        return states.has(taskArn) ? sight(taskArn) : undefined;
      },
      async listLive() {
        const living = [...states].filter(([, state]) => state === 'running');
        return { tasks: living.map(([taskArn]) => sight(taskArn)) };
      },
    },
  };
  return {
    ...embedded,
    deps,
    ledger,
    sent,
    launches,
    stops,
    /** What the control plane says of each task. */
    states,
    /** Why a task stopped, by its name. */
    stopped,
    /** What the control plane does from now on; undefined: launches. */
    onLaunch(behaviour: typeof nextLaunch) {
      nextLaunch = behaviour;
    },
    passMs(ms: number) {
      now += ms;
    },
    message: (head: RunHead): LaunchMessage => ({
      schemaVersion: '1',
      tenantId: head.tenantId,
      runId: head.runId,
    }),
    async accept(fields: Partial<RunHead> = {}): Promise<RunHead> {
      const head = queuedHead(fields);
      await ledger.createRun({ head, specification: SPECIFICATION, events: [queuedEvent(head)] });
      return head;
    },
  };
}
export type OrchestratorBench = Awaited<ReturnType<typeof openOrchestratorBench>>;
