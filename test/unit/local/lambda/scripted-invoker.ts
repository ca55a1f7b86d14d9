import type { InvokeOutcome, LambdaInvoker } from '#local/lambda/index.ts';

/** A function whose answers come from `answer`: what it throws is a failed invocation. */
export class ScriptedInvoker implements LambdaInvoker {
  readonly name = 'workers/relay-outbox';
  readonly arn = 'arn:aws:lambda:us-east-1:000000000000:function:workers/relay-outbox';
  readonly events: unknown[] = [];
  readonly #answer: (event: never) => unknown;

  constructor(answer: (event: never) => unknown) {
    this.#answer = answer;
  }

  async invoke(event: unknown): Promise<InvokeOutcome> {
    this.events.push(event);
    try {
      return {
        status: 'ok',
        payload: JSON.stringify(await this.#answer(event as never)) ?? 'null',
      };
    } catch (error) {
      const { name, message } = error as Error;
      return { status: 'error', error: { errorType: name, errorMessage: message } };
    }
  }

  stream(): Promise<InvokeOutcome> {
    throw new Error('not streamed here');
  }
}
