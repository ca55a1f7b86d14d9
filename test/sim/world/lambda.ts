import type { Context } from 'aws-lambda';
import type { Actor, Kernel } from '../kernel/kernel.ts';
import type { Faults } from './faults.ts';

export type Invocation<R> =
  | { readonly outcome: 'returned'; readonly value: R }
  | { readonly outcome: 'failed'; readonly error: unknown }
  | { readonly outcome: 'crashed' | 'timed_out' };

/** Runs handlers as Lambda does: each invocation is an actor that can die at any call, and must when its time is up. */
export class Lambdas {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  invocations = 0;

  constructor(kernel: Kernel, faults: Faults) {
    this.#kernel = kernel;
    this.#faults = faults;
  }

  invoke<R>(
    name: string,
    timeoutMs: number,
    run: (context: Context) => Promise<R>,
    ended: (invocation: Invocation<R>) => void,
  ): Actor {
    const kernel = this.#kernel;
    this.invocations += 1;
    const actor = kernel.newActor(name, { skewMs: this.#faults.skewMs() });
    const startMs = this.#faults.hits('lambda.slow_start')
      ? this.#faults.random.between(500, 12_000)
      : 5 * this.#faults.random.unit();
    const endsAt = kernel.now + startMs + timeoutMs;
    let over = false;
    const end = (invocation: Invocation<R>) => {
      if (over) return;
      over = true;
      limit.cancelled = true;
      ended(invocation);
    };
    const limit = kernel.after(startMs + timeoutMs, () => {
      if (over) return;
      kernel.note(`${actor.name} TIMED OUT`);
      over = true;
      kernel.crash(actor);
      ended({ outcome: 'timed_out' });
    });
    actor.atDeath.push(() => end({ outcome: 'crashed' }));
    kernel.afterFor(actor, startMs, () => {
      kernel.start(
        actor,
        () => run(this.#context(name, actor, endsAt)),
        (outcome) =>
          end(
            'value' in outcome
              ? { outcome: 'returned', value: outcome.value }
              : { outcome: 'failed', error: outcome.error },
          ),
      );
    });
    return actor;
  }

  #context(name: string, actor: Actor, endsAt: number): Context {
    return {
      callbackWaitsForEmptyEventLoop: false,
      functionName: name,
      functionVersion: '1',
      invokedFunctionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${name}`,
      memoryLimitInMB: '512',
      awsRequestId: actor.name,
      logGroupName: name,
      logStreamName: name,
      getRemainingTimeInMillis: () => Math.max(0, Math.floor(endsAt - this.#kernel.now)),
      done: () => undefined,
      fail: () => undefined,
      succeed: () => undefined,
    };
  }
}
