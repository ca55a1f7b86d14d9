import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptHost,
  cancelRun,
  dispatchRun,
  renewLease,
  sweepDueRuns,
} from '#shared/orchestrator/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';

let bench: OrchestratorBench;
beforeEach(async () => {
  bench = await openOrchestratorBench();
});
afterEach(() => bench.close());

const sweep = () => sweepDueRuns(bench.deps);

async function running(fields: Parameters<OrchestratorBench['accept']>[0] = {}) {
  const head = await bench.accept(fields);
  await dispatchRun(bench.deps, bench.message(head));
  const claim = await acceptHost(
    { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
    bench.launches.at(-1)?.ticket ?? '',
    { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
  );
  const scope = bench.deps.tokens.verifyExecutionToken(claim.executionToken);
  return { head, scope, task: `arn:task/${head.runId}/1` };
}

describe('ORC-5 sweeper', () => {
  it('looks at nothing whose time has not come', async () => {
    await bench.accept();
    expect(await sweep()).toEqual({ looked: 0, failed: 0 });
  });

  it('sends the message of a run that is still queued', async () => {
    const head = await bench.accept();
    bench.passMs(61_000);
    await sweep();
    expect(bench.sent.map(({ message }) => message)).toEqual([bench.message(head)]);
    expect(await sweep()).toEqual({ looked: 0, failed: 0 });
  });

  it('B100 leaves a run alone whose host renewed its lease', async () => {
    const { head, scope } = await running();
    bench.passMs(40_000);
    await renewLease(bench.deps, scope);
    bench.passMs(10_000);
    expect(await sweep()).toEqual({ looked: 1, failed: 0 });
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'running' });
    expect(await sweep()).toEqual({ looked: 0, failed: 0 });
  });

  it('B100 does not end a silent run whose task is alive', async () => {
    const { head } = await running();
    bench.passMs(46_000);
    await sweep();
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'running' });
  });

  it('ends a silent run whose task is gone', async () => {
    const { head, task } = await running();
    bench.states.set(task, 'stopped');
    bench.passMs(46_000);
    await sweep();
    expect(await bench.ledger.readHead(head)).toMatchObject({
      status: 'failed',
      error: { code: 'host_lost' },
    });
  });

  it('tries a silent repeatable run again', async () => {
    const { head, task } = await running({ repeatable: true });
    bench.states.delete(task);
    bench.passMs(46_000);
    await sweep();
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'queued', epoch: 1 });
    expect(bench.sent.at(-1)?.message).toEqual(bench.message(head));
  });

  it('takes a launch back that no host claimed, and stops its task', async () => {
    const head = await bench.accept();
    await dispatchRun(bench.deps, bench.message(head));
    bench.passMs(301_000);
    await sweep();
    expect(bench.stops).toEqual([`arn:task/${head.runId}/1`]);
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'queued', attempt: 1 });
  });

  it('B103 stops the task of a cancelled run until it is gone, and only then says cancelled', async () => {
    const { head, task } = await running();
    await cancelRun(bench.deps, head, { reason: 'enough', requestedBy: 'me' });
    bench.passMs(46_000);
    await sweep();
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'cancelling' });
    bench.states.set(task, 'stopped');
    bench.passMs(46_000);
    await sweep();
    expect(bench.stops).toEqual([task, task]);
    expect(await bench.ledger.readHead(head)).toMatchObject({
      status: 'cancelled',
      error: { message: 'enough' },
    });
  });

  it('ends every kind of live run a grace after its deadline', async () => {
    const { head, task } = await running();
    const queued = await bench.accept();
    bench.passMs(31 * 60_000 + 60_000);
    await sweep();
    expect(bench.stops).toEqual([task]);
    expect((await bench.ledger.readHead(head))?.status).toBe('timed_out');
    expect((await bench.ledger.readHead(queued))?.status).toBe('timed_out');
    expect(await sweep()).toEqual({ looked: 0, failed: 0 });
  });
});
