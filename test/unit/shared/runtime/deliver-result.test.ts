import { describe, expect, it } from 'vitest';
import type { ResultReply, ResultRequest } from '#shared/contracts/index.ts';
import { deliverResult } from '#shared/runtime/deliver-result.ts';
import {
  AuthorityLost,
  GatewayRefused,
  GatewayUnreachable,
} from '#shared/runtime/gateway-client.ts';
import { completedResult, noticeEvent } from '#test/support/run-builders.ts';

const COMMITTED: ResultReply = { outcome: 'committed', status: 'completed' };
const refused = new GatewayRefused(400, 'invalid_request', 'no');
const away = new GatewayUnreachable('no');
const result = completedResult({ metadata: { rule: 'x' } });

/** Delivers to a gateway that gives these answers, one by one. */
async function deliver(
  answers: readonly (ResultReply | Error)[],
  options: { reachable?: boolean; events?: number } = {},
) {
  const bodies: ResultRequest[] = [];
  const events = Array.from({ length: options.events ?? 1 }, () => noticeEvent('last words'));
  const ended = deliverResult({
    cursor: 'c',
    batch: { firstProducerSequence: 7, events },
    result,
    send: async (body) => {
      const answer = answers[bodies.length];
      bodies.push(body);
      if (answer === undefined) throw new Error('not asked for so often');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    isReachable: () => options.reachable ?? true,
    onFault: () => {},
  });
  const outcome = await ended.catch((error: unknown) => error);
  return { outcome, bodies };
}

describe('delivery of a result', () => {
  it('sends it once with the last events', async () => {
    const { outcome, bodies } = await deliver([COMMITTED]);
    expect(outcome).toEqual(COMMITTED);
    expect(bodies).toEqual([
      {
        cursor: 'c',
        batch: { firstProducerSequence: 7, events: [noticeEvent('last words')] },
        result,
      },
    ]);
  });

  it('B109 leaves out what is refused: the events, then what is not the outcome', async () => {
    const { outcome, bodies } = await deliver([refused, refused, COMMITTED]);
    expect(outcome).toEqual(COMMITTED);
    expect(bodies.map(({ batch, result: sent }) => [batch.events.length, sent])).toEqual([
      [1, result],
      [0, result],
      [0, { ...result, output: null, artifacts: [], metadata: {} }],
    ]);
  });

  it('waits for a gateway that is away, with all it has', async () => {
    const { outcome, bodies } = await deliver([away, away, away, COMMITTED], { reachable: false });
    expect(outcome).toEqual(COMMITTED);
    expect(new Set(bodies)).toHaveProperty('size', 1);
  });

  it('B109 goes without events when the gateway answers other calls but not this one', async () => {
    const { outcome, bodies } = await deliver([away, COMMITTED]);
    expect(outcome).toEqual(COMMITTED);
    expect(bodies.map(({ batch }) => batch.events.length)).toEqual([1, 0]);
  });

  it('ends when authority is lost, or when not even the bare outcome is taken', async () => {
    const lost = new AuthorityLost(409, 'over');
    expect((await deliver([lost])).outcome).toBe(lost);
    expect((await deliver([refused, refused], { events: 0 })).outcome).toBe(refused);
  });
});
