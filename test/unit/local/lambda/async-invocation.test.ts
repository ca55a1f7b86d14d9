import { describe, expect, it, vi } from 'vitest';
import { type DeadLetter, invokeAsync } from '#local/lambda/index.ts';
import { ScriptedInvoker } from './scripted-invoker.ts';

describe('an asynchronous invocation', () => {
  it('is retried twice', async () => {
    let failures = 2;
    const invoker = new ScriptedInvoker(() => {
      if (failures-- > 0) throw new Error('busy');
    });
    const onDeadLetter = vi.fn();
    const delays: number[] = [];
    const retryDelayMs = (retry: number) => {
      delays.push(retry);
      return 0;
    };
    expect(await invokeAsync({ invoker, onDeadLetter, retryDelayMs }, { n: 1 })).toBe('delivered');
    expect(invoker.events).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }]);
    expect(delays).toEqual([1, 2]);
    expect(onDeadLetter).not.toHaveBeenCalled();
  });

  it('then goes to the dead-letter callback', async () => {
    const invoker = new ScriptedInvoker(() => {
      throw new TypeError('bad event');
    });
    const letters: DeadLetter[] = [];
    const onDeadLetter = (letter: DeadLetter) => void letters.push(letter);
    expect(await invokeAsync({ invoker, onDeadLetter, retryDelayMs: () => 0 }, { n: 1 })).toBe(
      'dead_lettered',
    );
    expect(letters).toEqual([
      {
        functionName: invoker.name,
        event: { n: 1 },
        attempts: 3,
        error: { errorType: 'TypeError', errorMessage: 'bad event' },
      },
    ]);
  });

  it('rejects when nobody took the event, so that its keeper keeps it', async () => {
    const invoker = new ScriptedInvoker(() => {
      throw new Error('busy');
    });
    const refuse = () => {
      throw new Error('queue is gone');
    };
    await expect(invokeAsync({ invoker, maxRetries: 0, onDeadLetter: refuse }, {})).rejects.toThrow(
      'queue is gone',
    );
    const stopping = new AbortController();
    const waiting = invokeAsync(
      { invoker, onDeadLetter: refuse, retryDelayMs: () => 1e6, signal: stopping.signal },
      {},
    );
    stopping.abort();
    await expect(waiting).rejects.toThrow(/abort/);
  });
});
