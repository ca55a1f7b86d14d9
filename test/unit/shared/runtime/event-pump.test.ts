import { describe, expect, it } from 'vitest';
import type { AppendReply, AppendRequest, NewEvent } from '#shared/contracts/index.ts';
import { EventPump } from '#shared/runtime/event-pump.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

/** Presentation events wait for a timer; only `execution` events are urgent. */
function delta(text: string): NewEvent {
  return {
    ...noticeEvent(text),
    eventType: 'message.delta',
    family: 'presentation',
    payload: { messageId: 'm', text },
  };
}

/** A gateway whose answers the test gives one by one. */
function scriptedGateway() {
  const requests: AppendRequest[] = [];
  const answers: ((reply: AppendReply | Error) => void)[] = [];
  const waiting: (() => void)[] = [];
  return {
    requests,
    send: (request: AppendRequest) => {
      requests.push(request);
      for (const resolve of waiting.splice(0)) resolve();
      return new Promise<AppendReply>((resolve, reject) =>
        answers.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply))),
      );
    },
    async answer(reply: Partial<AppendReply> | Error = {}) {
      while (answers.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      answers.shift()?.(
        reply instanceof Error
          ? reply
          : { cursor: `c${requests.length}`, storedThrough: 0, directives: [], ...reply },
      );
    },
  };
}

function pumpOver(
  gateway: ReturnType<typeof scriptedGateway>,
  options: Partial<ConstructorParameters<typeof EventPump>[0]> = {},
) {
  const failures: unknown[] = [];
  const directives: unknown[] = [];
  const pump = new EventPump({
    cursor: 'c0',
    send: gateway.send,
    onDirective: (directive) => directives.push(directive),
    onFailure: (error) => failures.push(error),
    ...options,
  });
  return { pump, failures, directives };
}

describe('event pump', () => {
  it('sends an event of the execution family at once and collects what comes meanwhile', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([noticeEvent('one')]);
    await pump.push([delta('two')]);
    await pump.push([delta('three')]);
    expect(gateway.requests).toHaveLength(1);
    const drained = pump.drain();
    await gateway.answer();
    expect(await drained).toEqual({
      cursor: 'c1',
      batch: { firstProducerSequence: 2, events: [delta('two'), delta('three')] },
    });
  });

  it('continues with the cursor of the reply and counts on from what was stored', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([noticeEvent('a'), noticeEvent('b')]);
    await gateway.answer();
    await pump.push([noticeEvent('c')]);
    const drained = pump.drain();
    await gateway.answer();
    await drained;
    expect(
      gateway.requests.map(({ cursor, batch }) => [cursor, batch.firstProducerSequence]),
    ).toEqual([
      ['c0', 1],
      ['c1', 3],
    ]);
  });

  it('makes its producer wait above the high water mark, and lets it go on when there is room', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway, { flushBytes: 10, highWaterBytes: 500 });
    let released = false;
    const pushed = pump.push([delta('x'.repeat(1_000))]).then(() => {
      released = true;
    });
    await Promise.resolve();
    expect(released).toBe(false);
    await gateway.answer();
    await pushed;
    expect(released).toBe(true);
  });

  it('keeps an event too large for the store, without its payload', async () => {
    const gateway = scriptedGateway();
    const { pump } = pumpOver(gateway);
    await pump.push([noticeEvent('x'.repeat(300_000))]);
    await gateway.answer();
    expect(gateway.requests[0]?.batch.events[0]).toMatchObject({
      eventType: 'execution.diagnostic',
      payload: { payloadOmitted: true },
    });
  });

  it('tells of a failure once and takes no more', async () => {
    const gateway = scriptedGateway();
    const { pump, failures } = pumpOver(gateway);
    await pump.push([noticeEvent('a')]);
    const failure = new Error('gone');
    await gateway.answer(failure);
    const rest = await pump.drain();
    await pump.push([noticeEvent('b')]);
    expect(failures).toEqual([failure]);
    expect(rest.batch).toEqual({ firstProducerSequence: 1, events: [noticeEvent('a')] });
    expect(gateway.requests).toHaveLength(1);
  });

  it('passes directives of a reply on', async () => {
    const gateway = scriptedGateway();
    const { pump, directives } = pumpOver(gateway);
    await pump.push([noticeEvent('a')]);
    const drained = pump.drain();
    await gateway.answer({ directives: [{ kind: 'cancel', reason: 'enough' }] });
    await drained;
    expect(directives).toEqual([{ kind: 'cancel', reason: 'enough' }]);
  });
});
