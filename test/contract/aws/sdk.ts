import { expect } from 'vitest';

/** Options for an SDK client. One attempt each: a retry would hide what a call did. */
export function sdkOptions(endpoint: string) {
  return {
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  };
}

/** What the SDK throws; the rest depends on the service. */
export type SdkError = Error & {
  readonly Code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
};

/** The error of a call that has to fail with this name. */
export async function failure(call: Promise<unknown>, name: string): Promise<SdkError> {
  const outcome = await call.then(
    () => undefined,
    (error: SdkError) => error,
  );
  if (!outcome) expect.fail(`the call succeeded, ${name} was expected`);
  expect(outcome.name, outcome.message).toBe(name);
  return outcome;
}

let names = 0;

/** A name that no other test uses, on this server or another. */
export function uniqueName(kind: string): string {
  names += 1;
  return `${kind}-${process.pid}-${names}`;
}
