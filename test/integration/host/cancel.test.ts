import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFinalEventType } from '#shared/contracts/index.ts';
import { cancelRun } from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { type HostGateway, openHostGateway } from '#test/support/host-gateway.ts';
import { type Hosts, mark, openHosts } from '#test/support/real-host.ts';

let gateway: HostGateway;
let hosts: Hosts;
beforeEach(async () => {
  gateway = await openHostGateway();
  hosts = await openHosts(gateway);
});
afterEach(async () => {
  await gateway.close();
  await hosts.close();
});

const SILENT = [mark('began'), { wait: 'forever' }];
/** A few minutes of telling, in pieces. */
const TALKING = [
  mark('began'),
  ...Array.from({ length: 900 }, (_, nth) => [{ say: `piece ${nth}` }, { wait: 200 }]).flat(),
].slice(0, 1_000);

async function running(script: readonly object[]) {
  const { head, ticket } = await gateway.launch(script);
  const host = hosts.start(ticket);
  await expect.poll(() => hosts.marked(head.runId, 'began')).toBe(true);
  return { head, host };
}

const cancel = (head: RunHead, deps = gateway.deps) =>
  cancelRun(deps, head, { requestedBy: 'tester', reason: 'enough' });

/** One ending, cancelled, with nothing of the engine left and nothing in the log behind it. */
async function expectCancelled(head: RunHead) {
  expect(hosts.engines()).toEqual([]);
  const events = await gateway.events(head);
  const finals = events.filter(({ eventType }) => isFinalEventType(eventType));
  expect(finals.map(({ eventType }) => eventType)).toEqual(['run.cancelled']);
  expect(events.at(-1)).toEqual(finals[0]);
  expect(finals[0]?.payload).toMatchObject({
    processTree: { verifiedBy: 'host', verifiedGoneAt: expect.any(String), survivors: 0 },
  });
  return events;
}

describe('B103 a host learns of a cancel by whatever comes first', () => {
  it('the place in the log that its next events lose, in the middle of telling', async () => {
    const { head, host } = await running(TALKING);
    gateway.answerWith((route) => (route === 'heartbeat' ? 503 : undefined));
    const told = gateway.calls('events');
    await expect.poll(() => gateway.calls('events')).toBeGreaterThan(told + 1);
    await cancel(head);
    expect(await host.ended).toMatchObject({ reply: { status: 'cancelled' } });
    const events = await expectCancelled(head);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
    const pieces = events.flatMap(({ eventType, payload }) =>
      eventType === 'message.completed' ? [(payload as { text: string }).text] : [],
    );
    expect(pieces).toEqual(pieces.map((_, nth) => `piece ${nth}`));
  });

  it('its heartbeat, while its engine is silent', async () => {
    const { head, host } = await running(SILENT);
    await cancel(head);
    expect(await host.ended).toMatchObject({ reply: { status: 'cancelled' } });
    await expectCancelled(head);
  });

  it('the signal that stops its task, while its engine is silent and no heartbeat gets through', async () => {
    const { head, host } = await running(SILENT);
    gateway.answerWith((route) => (route === 'heartbeat' ? 503 : undefined));
    const { launcher } = gateway.deps;
    const stopped: string[] = [];
    await cancel(head, {
      ...gateway.deps,
      launcher: {
        ...launcher,
        async stop(taskArn) {
          stopped.push(taskArn);
          host.terminate();
        },
      },
    });
    expect(await host.ended).toMatchObject({ reply: { status: 'cancelled' } });
    expect(stopped).toEqual([`arn:task/${head.runId}/1`]);
    await expectCancelled(head);
  });
});
