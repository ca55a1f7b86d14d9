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
import { openDynamoWaitList } from '#shared/quotas/dynamo-wait-list.ts';
import { runLimitsSchema } from '#shared/quotas/index.ts';
import { duePartition, dueShardOf } from '#shared/runs/dynamo-run-item.ts';
import { openDynamoRunLedger } from '#shared/runs/dynamo-run-ledger.ts';
import type { RunHead, TaskState } from '#shared/runs/index.ts';
import { equals } from '#shared/table/index.ts';
import { TABLE_SHAPE } from '#shared/topology/index.ts';
import { openEmbeddedTable } from './embedded-table.ts';
import { creationOf, NOON, queuedHead } from './run-builders.ts';

const silent: Logger = { info() {}, warn() {}, error() {} };

/**
 * The orchestrator's use cases on the real ledger, with a queue and a control plane that only remember what they were
 * asked, and a clock that the test moves.
 */
export async function openOrchestratorBench() {
  const embedded = await openEmbeddedTable();
  let now = Date.parse(NOON);
  const clock = { now: () => now };
  const ledger = openDynamoRunLedger(embedded.table);
  const sent: { message: LaunchMessage; delayMs: number }[] = [];
  const launches: LaunchRequest[] = [];
  const stops: string[] = [];
  const states = new Map<string, TaskState>();
  const stopped = new Map<string, Parameters<typeof readTaskStop>[0]>();
  const attempts = new Map<string, { attempt: TaskSight['attempt'] & object; atMs: number }>();
  let nextLaunch: ((request: LaunchRequest) => Promise<LaunchOutcome>) | undefined;
  const taskOf = (request: Pick<LaunchRequest, 'ref' | 'epoch'>) =>
    `arn:task/${request.ref.runId}/${request.epoch}`;

  const sight = (taskArn: string): TaskSight => {
    const state = states.get(taskArn) ?? 'missing';
    const made = attempts.get(taskArn);
    return {
      taskArn,
      state,
      ...(made ? { attempt: made.attempt, createdAtMs: made.atMs } : {}),
      ...(state === 'stopped' ? { stop: readTaskStop(stopped.get(taskArn) ?? {}) } : {}),
    };
  };

  const deps: DispatchDeps = {
    ledger,
    clock,
    timing: timingSchema.parse({}),
    limits: runLimitsSchema.parse({}),
    waitList: openDynamoWaitList(embedded.table),
    registry: engineRegistry,
    deployed: [],
    tokens: createExecutionTokens('bench-secret', clock.now),
    log: { ...silent },
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
        const { ref, epoch } = request;
        const { tenantId, runId } = ref;
        attempts.set(taskOf(request), { attempt: { tenantId, runId, epoch }, atMs: now });
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
        const living = [...states].filter(
          ([taskArn, state]) => state === 'running' && !stops.includes(taskArn),
        );
        return { tasks: living.map(([taskArn]) => sight(taskArn)) };
      },
    },
  };
  const accept = async (fields: Partial<RunHead> = {}): Promise<RunHead> => {
    const head = queuedHead(fields);
    await ledger.createRun(creationOf(head));
    return head;
  };
  return {
    ...embedded,
    ...behindTheLedger(embedded),
    deps,
    ledger,
    sent,
    launches,
    stops,
    /** What the control plane says of each task. */
    states,
    /** What the name of a task says, and when it was made. */
    attempts,
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
    accept,
    /** A run whose timer is in this shard of the due index. */
    acceptInShard(shard: number, fields: Partial<RunHead> = {}): Promise<RunHead> {
      let { runId } = queuedHead();
      while (dueShardOf(runId) !== shard) ({ runId } = queuedHead());
      return accept({ runId, ...fields });
    },
  };
}

/** What only a look behind the ledger can do: broken items, timers of other kinds, the cost of what runs. */
function behindTheLedger({ table, client }: Awaited<ReturnType<typeof openEmbeddedTable>>) {
  const key = (head: RunHead) => ({ pk: `RUN#${head.tenantId}#${head.runId}`, sk: 'HEAD' });
  const due = (shard: number) => ({
    index: TABLE_SHAPE.indexes.due.name,
    keys: equals('duePk', duePartition(shard)),
    limit: 10_000,
  });
  return {
    /** As if the function that launched the task had died before it wrote its name down. */
    async forgetTask(head: RunHead) {
      await table.update(key(head), { remove: ['taskArn'] });
    },
    /** A head that no version of the platform has written. */
    async damage(head: RunHead) {
      await table.update(key(head), { remove: ['status'] });
    },
    /** A timer of a kind that the sweeper does not know, due at once. */
    async putTimer(shard: number, sk: string) {
      await table.put({
        pk: 'RUN#acme#other',
        sk,
        tenantId: 'acme',
        runId: 'other',
        duePk: duePartition(shard),
        dueAt: NOON,
      });
    },
    timersIn: async (shard: number) => (await table.query(due(shard))).items.length,
    /** How many requests `work` makes to the table, and how many items they answer. */
    async counting(work: () => Promise<unknown>): Promise<{ requests: number; items: number }> {
      const count = { requests: 0, items: 0 };
      client.middlewareStack.add(
        (next) => async (args) => {
          const reply = await next(args);
          count.requests += 1;
          count.items += (reply.output as { Items?: unknown[] }).Items?.length ?? 0;
          return reply;
        },
        { step: 'initialize', name: 'count' },
      );
      await work();
      client.middlewareStack.remove('count');
      return count;
    },
  };
}
export type OrchestratorBench = Awaited<ReturnType<typeof openOrchestratorBench>>;
