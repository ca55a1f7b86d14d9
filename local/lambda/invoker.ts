/** What a function answered. `payload` is JSON text, `null` for a handler that returned nothing. */
export type InvokeOutcome =
  | { readonly status: 'ok'; readonly payload: string }
  | { readonly status: 'error'; readonly error: FunctionError };

export interface FunctionError {
  /** The name of the thrown error, or one of Lambda's own: `Sandbox.Timedout`, `Runtime.MarshalError` … */
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}

/** The status and headers a handler gave with `awslambda.HttpResponseStream.from`. */
export interface ResponseMetadata {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly cookies?: readonly string[];
}

/** Where a streamed response goes. */
export interface ResponseSink {
  /** Called once, before the first chunk; never when the handler ends its stream without a write. */
  start(metadata: ResponseMetadata | undefined): void;
  /** Calls `taken` when the next chunk may come, which is how a slow reader slows the handler. */
  write(chunk: Buffer, taken: () => void): void;
  /** Aborts when the reader has gone; the handler's stream is then destroyed, the handler runs on. */
  readonly readerGone: AbortSignal;
}

/**
 * One function. An event is passed on as JSON would carry it. Never rejects: whatever a function does is an
 * outcome.
 */
export interface LambdaInvoker {
  readonly name: string;
  readonly arn: string;
  /** A streaming handler's output is collected as it is on the wire, metadata included, as Lambda does. */
  invoke(event: unknown): Promise<InvokeOutcome>;
  /** Resolves when handler and stream have ended. A handler that does not stream is an error. */
  stream(event: unknown, sink: ResponseSink): Promise<InvokeOutcome>;
}
