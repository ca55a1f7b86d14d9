import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  acceptHost,
  appendEvents,
  cancelRun,
  dispatchRun,
  settleRun,
  settleStoppedTask,
} from '#shared/orchestrator/index.ts';
import { type OrchestratorBench, openOrchestratorBench } from '#test/support/orchestrator-bench.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

let bench: OrchestratorBench;
beforeEach(async () => {
  bench = await openOrchestratorBench();
});
afterEach(() => bench.close());

const dispatch = (head: { tenantId: string; runId: string }) =>
  dispatchRun(bench.deps, {
    schemaVersion: '1',
    ...{ tenantId: head.tenantId, runId: head.runId },
  });

const host = (ticket: string, hostInstanceId = 'host-aaaa') =>
  acceptHost(
    { ...bench.deps, vault: { read: async () => undefined }, secretsPrefix: 'x/' },
    ticket,
    {
      hostInstanceId,
      hostVersion: '1',
      sandbox: 'none',
    },
  );

const lastTicket = () => bench.launches.at(-1)?.ticket ?? '';

describe('dispatch', () => {
  it('launches one task for a run and keeps its name', async () => {
    const head = await bench.accept();
    expect(await dispatch(head)).toBe('launched');
    expect(await bench.ledger.readHead(head)).toMatchObject({
      status: 'starting',
      epoch: 1,
      taskArn: `arn:task/${head.runId}/1`,
    });
  });

  it('B64 acknowledges a message whose run has moved on, without any effect', async () => {
    const head = await bench.accept();
    await dispatch(head);
    for (let delivery = 0; delivery < 5; delivery += 1)
      expect(await dispatch(head)).toBe('nothing_to_do');
    expect(bench.launches).toHaveLength(1);
  });

  it('B52 launches again, as the same attempt, when it died between claim and launch', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      throw new Error('the function was killed here');
    });
    await expect(dispatch(head)).rejects.toThrow('killed');
    bench.onLaunch(undefined);
    expect(await dispatch(head)).toBe('launched');
    const [first, second] = bench.launches;
    expect(second).toEqual(first);
    expect(await bench.ledger.readHead(head)).toMatchObject({ epoch: 1, attempt: 1 });
  });

  it('B58 makes one attempt out of two deliveries at once', async () => {
    const head = await bench.accept();
    await Promise.all([dispatch(head), dispatch(head)]);
    expect(new Set(bench.launches.map(({ epoch }) => epoch))).toEqual(new Set([1]));
    expect(await bench.ledger.readHead(head)).toMatchObject({ epoch: 1 });
  });

  it('B95 launches the run whose claim landed although its answer was lost', async () => {
    const head = await bench.accept();
    const { ledger } = bench.deps;
    const sentTwice: typeof ledger.claimForLaunch = async (input) => {
      await ledger.claimForLaunch(input);
      return ledger.claimForLaunch(input);
    };
    const outcome = await dispatchRun(
      { ...bench.deps, ledger: { ...ledger, claimForLaunch: sentTwice } },
      bench.message(head),
    );
    expect(outcome).toBe('launched');
    expect(await bench.ledger.readHead(head)).toMatchObject({
      epoch: 1,
      taskArn: expect.any(String),
    });
  });

  it('does not start a run after its deadline', async () => {
    const head = await bench.accept();
    bench.passMs(31 * 60_000);
    expect(await dispatch(head)).toBe('ended');
    expect(bench.launches).toEqual([]);
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'timed_out' });
  });

  it('stops the task of a run that was cancelled while it was being launched', async () => {
    const head = await bench.accept();
    bench.onLaunch(async () => {
      await cancelRun(bench.deps, head, { reason: undefined, requestedBy: 'me' });
      return { outcome: 'launched', taskArn: 'arn:late' };
    });
    await dispatch(head);
    expect(bench.stops).toEqual(['arn:late']);
    await expect(host(lastTicket())).rejects.toMatchObject({ code: 'ticket_refused' });
    expect(await bench.ledger.readHead(head)).toMatchObject({ status: 'cancelled' });
  });
});

describe('host claim', () => {
  it('ORC-4 lets one host in, answers it again, and refuses every other', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const first = await host(lastTicket());
    expect(await host(lastTicket())).toEqual(first);
    await expect(host(lastTicket(), 'host-bbbb')).rejects.toMatchObject({ code: 'ticket_refused' });
    expect(first.request).toMatchObject({ executionId: head.runId, attempt: 1 });
  });

  it('TRM-2 gives no place in the log behind an ending that came at the moment of the claim', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const { ledger } = bench.deps;
    const endedMeanwhile: typeof ledger.claimByHost = async (input) => {
      const claim = await ledger.claimByHost(input);
      await settleRun(bench.deps, head, { kind: 'deadline_passed', task: 'unknown' });
      return claim;
    };
    const { cursor } = await acceptHost(
      {
        ...bench.deps,
        ledger: { ...ledger, claimByHost: endedMeanwhile },
        vault: { read: async () => undefined },
        secretsPrefix: 'x/',
      },
      lastTicket(),
      { hostInstanceId: 'host-aaaa', hostVersion: '1', sandbox: 'none' },
    );
    await expect(
      appendEvents(
        bench.deps,
        { tenantId: head.tenantId, runId: head.runId, epoch: 1, expiresAtMs: 0 },
        { cursor, batch: { firstProducerSequence: 1, events: [noticeEvent('late')] } },
      ),
    ).rejects.toMatchObject({ code: 'authority_lost' });
    const pages = await ledger.readPages(head, 0, 10);
    expect(pages.map(({ kind }) => kind)).toEqual(['events', 'final']);
  });

  it('B104 refuses the ticket of an attempt that is over', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const old = lastTicket();
    await settleStoppedTask(bench.deps, {
      detail: {
        taskArn: `arn:task/${head.runId}/1`,
        lastStatus: 'STOPPED',
        startedBy: `${head.runId}/1/${head.tenantId}`,
        stopCode: 'TaskFailedToStart',
        containers: [],
      },
    });
    await dispatch(head);
    await expect(host(old)).rejects.toMatchObject({ code: 'ticket_refused' });
    await expect(host(lastTicket())).resolves.toMatchObject({ request: { attempt: 2 } });
  });

  it('refuses a ticket as execution token, and the reverse', async () => {
    const head = await bench.accept();
    await dispatch(head);
    const { executionToken } = await host(lastTicket());
    const { tokens } = bench.deps;
    expect(() => tokens.verifyExecutionToken(lastTicket())).toThrow('not issued here');
    expect(() => tokens.verifyTicket(executionToken)).toThrow('not issued here');
  });
});
