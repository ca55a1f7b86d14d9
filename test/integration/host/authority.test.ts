import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AgentEvent, processTreeSchema } from '#shared/contracts/index.ts';
import { cancelRun, settleRun } from '#shared/orchestrator/index.ts';
import { type HostGateway, openHostGateway } from '#test/support/host-gateway.ts';
import { door, type Hosts, mark, openHosts } from '#test/support/real-host.ts';

let gateway: HostGateway;
let hosts: Hosts;
async function open(timing: Parameters<typeof openHostGateway>[0] = {}) {
  gateway = await openHostGateway(timing);
  hosts = await openHosts(gateway);
}
afterEach(async () => {
  await gateway.close();
  await hosts.close();
});

const FOREVER = [mark('began'), { wait: 'forever' }];
const REPEATABLE = { repeatable: true, maxAttempts: 3 };

const finals = (events: readonly AgentEvent[]) =>
  events.filter(({ eventType }) =>
    /^run\.(completed|failed|cancelled|timed_out|budget_exhausted)$/.test(eventType),
  );

describe('a host whose authority is taken away', () => {
  beforeEach(() => open());

  it('B50 kills its engine and exits when its heartbeat is refused for good', async () => {
    const { head, ticket } = await gateway.launch([{ ignoreSignals: true }, ...FOREVER]);
    const host = hosts.start(ticket, { graceMs: 600_000 });
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    // What it would have to wait for, if it were polite: ten minutes.
    await settleRun(gateway.deps, head, { kind: 'deadline_passed', task: 'unknown' });
    expect(await host.ended).toMatchObject({ outcome: 'authority_lost' });
    const events = await gateway.events(head);
    expect(finals(events).map(({ eventType }) => eventType)).toEqual(['run.timed_out']);
    expect(events.at(-1)).toEqual(finals(events)[0]);
  });

  it('B50 goes on when its heartbeat only fails', async () => {
    const { head, ticket } = await gateway.launch([mark('began'), door('go'), { complete: 'x' }]);
    const host = hosts.start(ticket);
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    gateway.answerWith((route) => (route === 'heartbeat' ? 503 : undefined));
    const asked = gateway.calls('heartbeat');
    await expect.poll(() => gateway.calls('heartbeat')).toBeGreaterThan(asked + 3);
    gateway.answerWith(() => undefined);
    await hosts.open(head.runId, 'go');
    expect(await host.ended).toMatchObject({ reply: { status: 'completed' } });
  });

  it('HST-5 says with its heartbeats how it and its engine are doing', async () => {
    const { head, ticket } = await gateway.launch(FOREVER);
    const host = hosts.start(ticket);
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    const health = () =>
      gateway.logged.filter(
        ({ message, fields }) => message === 'host health' && fields.engineProcesses,
      );
    await expect.poll(() => health().length).toBeGreaterThan(0);
    expect(health()[0]?.fields).toEqual({
      tenantId: head.tenantId,
      runId: head.runId,
      epoch: 1,
      state: 'running',
      hostRssBytes: expect.any(Number),
      engineBytes: expect.any(Number),
      engineProcesses: expect.any(Number),
      pendingEvents: expect.any(Number),
      pendingBytes: expect.any(Number),
      spoolBytes: 0,
      lostEvents: 0,
    });
    await cancelRun(gateway.deps, head, { requestedBy: 'tester', reason: undefined });
    await host.ended;
  });

  it('ends at once when its task is stopped before anybody answers its claim', async () => {
    const { ticket } = await gateway.launch(FOREVER);
    await gateway.goAway();
    const host = hosts.start(ticket);
    host.terminate();
    expect(await host.ended).toMatchObject({ outcome: 'unreachable' });
  });
});

describe('a host that cannot renew its lease', () => {
  it('ORC-4 kills the engine of a run that another attempt may take over, and tells when it can', async () => {
    // Long enough for a busy machine to renew it, once it is there.
    await open({ leaseMs: 2_000 });
    const { head, ticket } = await gateway.launch(
      [{ ignoreSignals: true }, ...FOREVER],
      REPEATABLE,
    );
    const host = hosts.start(ticket, { graceMs: 600_000 });
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    await gateway.goAway();
    // Nothing is open any more: the engine is dead before anybody is told of it.
    await expect.poll(() => hosts.engines()).toEqual([]);
    await gateway.comeBack();
    expect(await host.ended).toMatchObject({ reply: { outcome: 'requeued' } });
    const requeued = (await gateway.events(head)).find(
      ({ eventType }) => eventType === 'run.requeued',
    );
    expect(requeued?.payload).toMatchObject({ error: { code: 'host_lost' } });
  });

  it('lets the engine of a run go on that nobody else will take over', async () => {
    await open({ leaseMs: 200 });
    const { head, ticket } = await gateway.launch([mark('began'), door('go'), { complete: 'x' }]);
    const host = hosts.start(ticket);
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    gateway.answerWith(() => 503);
    const asked = gateway.calls('heartbeat');
    // More than two leases, as each is tried again after 100 ms at the earliest.
    await expect.poll(() => gateway.calls('heartbeat')).toBeGreaterThan(asked + 6);
    gateway.answerWith(() => undefined);
    await hosts.open(head.runId, 'go');
    expect(await host.ended).toMatchObject({ reply: { status: 'completed' } });
  });

  it('stops its engine in time when its task is taken away and nobody can say why', async () => {
    await open();
    const { head, ticket } = await gateway.launch(FOREVER, REPEATABLE);
    const host = hosts.start(ticket, { waiting: { hurryMs: 300 } });
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    gateway.answerWith((route) => (route === 'result' ? undefined : 503));
    host.terminate();
    expect(await host.ended).toMatchObject({ reply: { outcome: 'requeued' } });
  });
});

describe('an ending that proves itself', () => {
  beforeEach(() => open());

  it('HST-2 B41 a cancelled run says when its process tree was verified gone, and how', async () => {
    const { head, ticket } = await gateway.launch([
      { ignoreSignals: true },
      { spawnDaemon: { count: 2 } },
      ...FOREVER,
    ]);
    const host = hosts.start(ticket, { graceMs: 100 });
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    await cancelRun(gateway.deps, head, { requestedBy: 'tester', reason: 'enough' });
    expect(await host.ended).toMatchObject({ reply: { status: 'cancelled' } });
    const [final] = finals(await gateway.events(head));
    expect(final).toMatchObject({
      eventType: 'run.cancelled',
      payload: {
        processTree: {
          verifiedBy: 'host',
          verifiedGoneAt: expect.any(String),
          signals: ['SIGTERM', 'SIGKILL'],
          survivors: 0,
        },
      },
    });
    const tree = processTreeSchema.parse(
      (final?.payload as { processTree?: unknown } | undefined)?.processTree,
    );
    expect(tree.verifiedBy === 'host' && tree.processesKilled).toBeGreaterThanOrEqual(3);
  });

  it('HST-2 an engine that obeys is asked, not killed after a minute of grace', async () => {
    const { head, ticket } = await gateway.launch(FOREVER);
    const host = hosts.start(ticket, { graceMs: 60_000 });
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    await cancelRun(gateway.deps, head, { requestedBy: 'tester', reason: undefined });
    await host.ended;
    expect(finals(await gateway.events(head))[0]?.payload).toMatchObject({
      processTree: { verifiedBy: 'host', signals: expect.arrayContaining(['SIGTERM']) },
    });
  });

  it('TRM-8 output over its limit is told of, in bytes, and ends the run', async () => {
    const { head, ticket } = await gateway.launch([{ flood: 4 * 1024 * 1024 }]);
    const host = hosts.start(ticket, { outputBytes: 1024 * 1024 });
    expect(await host.ended).toMatchObject({ reply: { status: 'failed' } });
    const events = await gateway.events(head);
    expect(events.find(({ eventType }) => eventType === 'events.lost')?.payload).toEqual({
      reason: 'output_unread',
      bytes: expect.any(Number),
    });
    expect(finals(events)[0]?.payload).toMatchObject({ error: { code: 'output_limit' } });
  });

  it('B110 a completion that comes after the cancel is kept as evidence, and nobody announces it', async () => {
    const { head, ticket } = await gateway.launch([mark('began'), door('go'), { complete: 'x' }]);
    const host = hosts.start(ticket);
    await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
    // The host is not told before its engine has ended.
    gateway.answerWith((route) => (route === 'result' ? undefined : 503));
    await cancelRun(gateway.deps, head, { requestedBy: 'tester', reason: undefined });
    await hosts.open(head.runId, 'go');
    await expect.poll(() => hosts.engines()).toEqual([]);
    gateway.answerWith(() => undefined);
    expect(await host.ended).toMatchObject({ reply: { status: 'cancelled' } });
    const events = await gateway.events(head);
    expect(finals(events).map(({ eventType }) => eventType)).toEqual(['run.cancelled']);
    const ended = await gateway.ledger.readHead(head);
    const ending = await gateway.ledger.readEnding(head, ended?.finalPage ?? 0);
    expect(ending?.evidence).toMatchObject({ lateResult: { status: 'completed', output: 'x' } });
  });
});
