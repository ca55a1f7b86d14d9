/**
 * An answer of an emulated AWS service that is an error. `type` is what the SDK turns into `error.name`.
 * `extra` is merged into the JSON body (`CancellationReasons`, `Item` …), `headers` into the response.
 */
export class AwsError extends Error {
  readonly type: string;
  readonly statusCode: number;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    type: string,
    message: string,
    options: {
      statusCode?: number;
      extra?: Record<string, unknown>;
      headers?: Record<string, string>;
    } = {},
  ) {
    // It is an answer, not a fault: nobody asks where it came from, and finding that out takes longer than a read.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'AwsError';
    this.type = type;
    this.statusCode = options.statusCode ?? 400;
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}
