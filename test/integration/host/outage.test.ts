import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { type HostGateway, openHostGateway } from '#test/support/host-gateway.ts';
import { door, type Hosts, mark, openHosts } from '#test/support/real-host.ts';

const KB = 1_024;
/** Of one message; a script of forty fits into the table. */
const MESSAGE = 'm'.repeat(6 * KB);
/** The gateway counts as stalled soon. */
const SOON = { memoryBytes: 20 * KB, stallMs: 200 };

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

const said = (events: readonly AgentEvent[]) =>
  events
    .filter(({ eventType }) => eventType === 'message.completed')
    .map(({ payload }) => (payload as { text: string }).text.split(' ')[0]);

const NUMBERS = Array.from({ length: 40 }, (_, n) => String(n));

/** Events are refused, everything else is answered. */
const noEvents = (route: string) => (route === 'events' ? 503 : undefined);

/** What holds for every log: dense, one ending, at its end. */
function expectWhole(events: readonly AgentEvent[], ending: string) {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
  const endings = events.filter(({ eventType }) =>
    /^run\.(completed|failed|cancelled|timed_out|budget_exhausted)$/.test(eventType),
  );
  expect(endings.map(({ eventType }) => eventType)).toEqual([ending]);
  expect(events.at(-1)).toEqual(endings[0]);
}

describe('a gateway that is away while the engine works', () => {
  it('B109 loses nothing: the engine goes on, its events wait on disk, private, and arrive in order', async () => {
    const { head, ticket } = await gateway.launch([
      { say: 'before' },
      door('go'),
      ...NUMBERS.map((n) => ({ say: `${n} ${MESSAGE}` })),
      mark('worked'),
      { complete: 'made it' },
    ]);
    const host = hosts.start(ticket, { waiting: SOON });
    await expect.poll(async () => said(await gateway.events(head))).toEqual(['before']);
    await gateway.goAway();
    await hosts.open(head.runId, 'go');
    // The engine's output stops at the host's memory until the gateway counts as stalled.
    await expect.poll(() => hosts.marked(head.runId, 'worked')).toBe(true);
    await expect.poll(() => hosts.spooled().length).toBeGreaterThan(0);
    const [folder = ''] = hosts.spoolFolders();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of hosts.spooled()) {
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    }
    await gateway.comeBack();
    expect(await host.ended).toMatchObject({
      outcome: 'reported',
      reply: { outcome: 'committed' },
    });
    const events = await gateway.events(head);
    expectWhole(events, 'run.completed');
    expect(said(events)).toEqual(['before', ...NUMBERS]);
    expect(events.filter(({ eventType }) => eventType === 'events.lost')).toEqual([]);
    expect(hosts.spoolFolders()).toEqual([]);
    expect(hosts.faults).toEqual([]);
  });

  it('B109 keeps the real ending when there was no room, and says what is missing where it is missing', async () => {
    const { head, ticket } = await gateway.launch([
      { say: 'before' },
      door('go'),
      ...NUMBERS.map((n) => ({ say: `${n} ${MESSAGE}`, deltas: 4 })),
      mark('worked'),
      { complete: 'made it' },
    ]);
    const host = hosts.start(ticket, { waiting: SOON, spoolBytes: 400 * KB });
    await expect.poll(async () => said(await gateway.events(head))).toEqual(['before']);
    await gateway.goAway();
    await hosts.open(head.runId, 'go');
    await expect.poll(() => hosts.marked(head.runId, 'worked')).toBe(true);
    await gateway.comeBack();
    expect(await host.ended).toMatchObject({ outcome: 'reported' });
    const events = await gateway.events(head);
    expectWhole(events, 'run.completed');
    expect(said(events)).toEqual(['before', ...NUMBERS]);
    const losses = events.filter(({ eventType }) => eventType === 'events.lost');
    expect(losses.map(({ payload }) => payload)).toEqual([
      expect.objectContaining({
        reason: 'spool_full',
        types: expect.objectContaining({ 'message.delta': expect.any(Number) }),
      }),
    ]);
    expect(JSON.stringify(losses)).not.toContain('message.completed');
  });
});

describe('a gateway that answers all but events', () => {
  it('B109 gets the result of a run that has ended, and is told which events it has not', async () => {
    const { head, ticket } = await gateway.launch([
      { say: 'before' },
      door('go'),
      ...NUMBERS.map((n) => ({ say: `${n} ${MESSAGE}` })),
      { complete: 'made it' },
    ]);
    const host = hosts.start(ticket, { waiting: { ...SOON, eventsGiveUpMs: 500 } });
    await expect.poll(async () => said(await gateway.events(head))).toEqual(['before']);
    gateway.answerWith(noEvents);
    await hosts.open(head.runId, 'go');
    expect(await host.ended).toMatchObject({
      reply: { outcome: 'committed', status: 'completed' },
    });
    const events = await gateway.events(head);
    expectWhole(events, 'run.completed');
    const lost = events.at(-2);
    expect(lost).toMatchObject({ eventType: 'events.lost', payload: { reason: 'gateway_failed' } });
    const missing = NUMBERS.length + 1 - said(events).length;
    expect(missing).toBeGreaterThan(0);
    expect(lost?.payload).toMatchObject({ types: { 'message.completed': missing } });
  });

  it('stores all of them when it comes to itself in time', async () => {
    const { head, ticket } = await gateway.launch([
      { say: 'before' },
      door('go'),
      ...NUMBERS.map((n) => ({ say: n })),
      { complete: 'made it' },
    ]);
    const host = hosts.start(ticket, { waiting: SOON });
    await expect.poll(async () => said(await gateway.events(head))).toEqual(['before']);
    gateway.answerWith(noEvents);
    const asked = gateway.calls('events');
    await hosts.open(head.runId, 'go');
    await expect.poll(() => gateway.calls('events')).toBeGreaterThan(asked + 2);
    gateway.answerWith(() => undefined);
    expect(await host.ended).toMatchObject({ outcome: 'reported' });
    const events = await gateway.events(head);
    expectWhole(events, 'run.completed');
    expect(said(events)).toEqual(['before', ...NUMBERS]);
  });

  it('B109 keeps the ending even when it does not take the last events with the result', async () => {
    const { head, ticket } = await gateway.launch([{ complete: 'made it' }]);
    // A page too large for the table, say: refused again and again, for a reason of its own.
    gateway.answerWith((route) => (route === 'events' ? 400 : undefined));
    const host = hosts.start(ticket, { waiting: SOON });
    expect(await host.ended).toMatchObject({
      reply: { outcome: 'committed', status: 'completed' },
    });
    expectWhole(await gateway.events(head), 'run.completed');
  });
});

describe('an event too large for the log', () => {
  it('is kept as a blob of its run; the log holds a preview and where the whole one is', async () => {
    const text = `b ${'ü'.repeat(110 * KB)}`;
    const { head, ticket } = await gateway.launch([
      { say: text, deltas: 1 },
      { complete: 'made it' },
    ]);
    expect(await hosts.start(ticket).ended).toMatchObject({ outcome: 'reported' });
    const events = await gateway.events(head);
    expectWhole(events, 'run.completed');
    const delta = events.find(({ eventType }) => eventType === 'message.delta');
    expect(delta).toMatchObject({ blob: { bytes: expect.any(Number) } });
    expect(JSON.stringify(delta).length).toBeLessThan(4 * KB);
    const found = await gateway.objects.blobs.read({
      tenantId: head.tenantId,
      runId: head.runId,
      sha256: delta?.blob?.sha256 ?? '',
    });
    const parts: Uint8Array[] = [];
    for await (const part of found?.content ?? []) parts.push(part);
    expect(JSON.parse(Buffer.concat(parts).toString('utf8'))).toMatchObject({ text });
  });
});
