import type { Deliver } from '#local/aws/events/outbox.ts';
import { invokeAsync } from '#local/lambda/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { type Functions, functionOf } from './functions.ts';

export interface TargetOptions {
  readonly functions: Functions;
  /**
   * Resolves when the functions' environment is complete. What an earlier stack left is delivered from the first
   * moment on, and a function that is loaded without its variables fails for the life of this process.
   */
  readonly ready: Promise<void>;
  /** Ends the waiting between attempts. */
  readonly signal: AbortSignal;
}

/** Brings events of the bus to functions of the catalogue. What fails is tried again. */
export function deliverToFunctions(options: TargetOptions): Deliver {
  return async ({ arn }, event) => {
    await options.ready;
    await invokeFunction(options, arn.slice(arn.lastIndexOf(':') + 1), event);
  };
}

async function invokeFunction(
  { functions, signal }: TargetOptions,
  targetName: string,
  event: object,
): Promise<void> {
  const entry = FUNCTIONS.find(({ name }) => name.endsWith(`/${targetName}`));
  if (!entry) throw new TypeError(`no function is called ${targetName}`);
  await invokeAsync(
    {
      invoker: functionOf(functions, entry.name),
      signal,
      onDeadLetter: ({ error }) => {
        throw new Error(`${entry.name} did not take the event: ${error.errorMessage}`);
      },
    },
    event,
  );
}
