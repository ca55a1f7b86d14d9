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
    super(message);
    this.name = 'AwsError';
    this.type = type;
    this.statusCode = options.statusCode ?? 400;
    this.extra = options.extra ?? {};
    this.headers = options.headers ?? {};
  }
}
