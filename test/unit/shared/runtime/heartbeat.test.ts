import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HeartbeatReply } from '#shared/contracts/index.ts';
import { AuthorityLost, GatewayUnreachable } from '#shared/runtime/gateway-client.ts';
import { Heartbeat } from '#shared/runtime/heartbeat.ts';
import { NOON } from '#test/support/run-builders.ts';

const REPLY: HeartbeatReply = { leaseExpiresAt: NOON, directives: [] };
const clock = { now: () => Date.now() };

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

function startHeartbeat(
  beat: (signal: AbortSignal) => Promise<HeartbeatReply>,
  fenceAfterMs?: number,
) {
  const told: string[] = [];
  const heartbeat = new Heartbeat({
    everyMs: 15_000,
    fenceAfterMs,
    beat,
    onDirective: ({ kind }) => told.push(kind),
    onRenewed: () => told.push('renewed'),
    onSilence: () => told.push(`silence at ${Date.now()}`),
    onFailure: (error) => told.push((error as Error).name),
    clock,
  });
  heartbeat.start(0);
  return { heartbeat, told };
}

describe('heartbeat', () => {
  it('renews at its pace and passes on what the platform wants', async () => {
    const { told } = startHeartbeat(async () => ({
      ...REPLY,
      directives: [{ kind: 'cancel', reason: 'x' }],
    }));
    await vi.advanceTimersByTimeAsync(30_000);
    expect(told).toEqual(['cancel', 'renewed', 'cancel', 'renewed']);
  });

  it('asks again soon when the gateway does not answer, for as long as it takes', async () => {
    const beats: number[] = [];
    const { heartbeat } = startHeartbeat(async () => {
      beats.push(Date.now());
      throw new GatewayUnreachable('no');
    });
    await vi.advanceTimersByTimeAsync(15_000 + 60 * 60_000);
    expect(beats.slice(0, 3)).toEqual([15_000, 17_000, 19_000]);
    expect(beats.length).toBeGreaterThan(1_000);
    expect(heartbeat.isReaching).toBe(false);
    heartbeat.stop();
  });

  it('B50 beats no more once it is refused', async () => {
    const beat = vi.fn(async () => {
      throw new AuthorityLost(410, 'over');
    });
    const { told } = startHeartbeat(beat, 90_000);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(told).toEqual(['AuthorityLost']);
    expect(beat).toHaveBeenCalledTimes(1);
  });

  it('ORC-4 tells of silence when the lease was not renewed for so long, counted from when it was asked for', async () => {
    let answers = true;
    const { told, heartbeat } = startHeartbeat(async () => {
      if (!answers) throw new GatewayUnreachable('no');
      // The answer takes a while: the lease may be as old as the question.
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      return REPLY;
    }, 90_000);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(told).toEqual(['renewed']);
    answers = false;
    await vi.advanceTimersByTimeAsync(600_000);
    expect(told).toEqual(['renewed', 'silence at 105000']);
    heartbeat.stop();
  });

  it('is never silent when nobody can follow', async () => {
    const { told, heartbeat } = startHeartbeat(async () => {
      throw new GatewayUnreachable('no');
    });
    await vi.advanceTimersByTimeAsync(24 * 60 * 60_000);
    expect(told).toEqual([]);
    heartbeat.stop();
  });

  it('answers whoever asks now with the beat that is under way', async () => {
    const beat = vi.fn(async () => REPLY);
    const { heartbeat } = startHeartbeat(beat);
    await Promise.all([heartbeat.beatNow(), heartbeat.beatNow()]);
    expect(beat).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(15_000);
    expect(beat).toHaveBeenCalledTimes(2);
    heartbeat.stop();
  });
});
