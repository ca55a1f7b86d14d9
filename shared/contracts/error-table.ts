/** When a failed run may be tried again. `policy`: within the attempt limit; `conditional`: only without side effects. */
export type RetryRule = 'never' | 'policy' | 'after_delay' | 'per_task' | 'conditional';

/** CON-4: the classes of error, each with its default retry rule. */
export const ERROR_CLASSES = {
  ConfigurationError: { retry: 'never' },
  EngineUnavailable: { retry: 'policy' },
  ProtocolError: { retry: 'policy' },
  AuthenticationError: { retry: 'never' },
  PermissionDenied: { retry: 'never' },
  ResourceExhausted: { retry: 'after_delay' },
  Timeout: { retry: 'per_task' },
  Cancelled: { retry: 'never' },
  WorkspaceError: { retry: 'policy' },
  InternalError: { retry: 'conditional' },
  BudgetExhausted: { retry: 'never' },
} as const satisfies Record<string, { retry: RetryRule }>;
export type ErrorClass = keyof typeof ERROR_CLASSES;

export interface ErrorSpec {
  readonly class: ErrorClass;
  /** HTTP status when this is the answer to a request. */
  readonly http: number;
  /** Whose fault it is: decides log level and who is asked to act. */
  readonly fault: 'caller' | 'engine' | 'model' | 'platform';
  readonly meaning: string;
}

/** Every error code there is. HTTP status, retry, log level and `docs/errors.md` derive from it. */
export const ERROR_SPECS = {
  invalid_request: {
    class: 'ConfigurationError',
    http: 400,
    fault: 'caller',
    meaning: 'A field of the request is missing, unknown or wrong; `field` names it.',
  },
  invalid_json: {
    class: 'ConfigurationError',
    http: 400,
    fault: 'caller',
    meaning: 'The request body is not valid JSON.',
  },
  invalid_cursor: {
    class: 'ConfigurationError',
    http: 400,
    fault: 'caller',
    meaning: 'The cursor was not made by this API for this list.',
  },
  payload_too_large: {
    class: 'ConfigurationError',
    http: 413,
    fault: 'caller',
    meaning: 'The request or one of its fields is over its size limit, counted in UTF-8 bytes.',
  },
  unsupported_media_type: {
    class: 'ConfigurationError',
    http: 415,
    fault: 'caller',
    meaning: 'The request body is not application/json.',
  },
  route_not_found: {
    class: 'ConfigurationError',
    http: 404,
    fault: 'caller',
    meaning: 'No such path.',
  },
  method_not_allowed: {
    class: 'ConfigurationError',
    http: 405,
    fault: 'caller',
    meaning: 'The path exists, the method does not.',
  },
  run_not_found: {
    class: 'ConfigurationError',
    http: 404,
    fault: 'caller',
    meaning: 'No run of that id in this tenant.',
  },
  blob_not_found: {
    class: 'ConfigurationError',
    http: 404,
    fault: 'caller',
    meaning: 'The run has no payload of that hash, or it was kept for its time and is gone.',
  },
  idempotency_conflict: {
    class: 'ConfigurationError',
    http: 409,
    fault: 'caller',
    meaning: 'The Idempotency-Key was used before with another body.',
  },
  unknown_engine: {
    class: 'ConfigurationError',
    http: 422,
    fault: 'caller',
    meaning:
      'No adapter of that engine, protocol and version; `details.available` lists what exists.',
  },
  engine_config_invalid: {
    class: 'ConfigurationError',
    http: 422,
    fault: 'caller',
    meaning: 'The engine section does not fit the engine; `field` names the place.',
  },
  unsupported_capability: {
    class: 'ConfigurationError',
    http: 422,
    fault: 'caller',
    meaning: 'The run needs something the engine cannot do or policy does not allow.',
  },
  argument_invalid: {
    class: 'ConfigurationError',
    http: 422,
    fault: 'caller',
    meaning: 'Input that cannot be given to a process (a NUL byte, or over the system limit).',
  },
  already_terminal: {
    class: 'ConfigurationError',
    http: 409,
    fault: 'caller',
    meaning: 'The run has ended; its outcome is final.',
  },
  unauthenticated: {
    class: 'AuthenticationError',
    http: 401,
    fault: 'caller',
    meaning: 'No valid token.',
  },
  forbidden: {
    class: 'PermissionDenied',
    http: 403,
    fault: 'caller',
    meaning: 'The token does not allow this.',
  },
  capability_violation: {
    class: 'PermissionDenied',
    http: 403,
    fault: 'engine',
    meaning: 'The engine did what this run may not do; it was stopped.',
  },
  credential_unavailable: {
    class: 'AuthenticationError',
    http: 424,
    fault: 'caller',
    meaning: "A credential that the run needs is not in the tenant's vault.",
  },
  model_unauthenticated: {
    class: 'AuthenticationError',
    http: 424,
    fault: 'caller',
    meaning: 'The model provider refused the credential.',
  },
  model_not_found: {
    class: 'ConfigurationError',
    http: 424,
    fault: 'caller',
    meaning: 'The model provider does not know the model.',
  },
  model_request_refused: {
    class: 'ConfigurationError',
    http: 424,
    fault: 'caller',
    meaning: 'The model provider refused the request as wrong.',
  },
  model_unavailable: {
    class: 'EngineUnavailable',
    http: 424,
    fault: 'model',
    meaning: 'The model provider failed or could not be reached.',
  },
  model_rate_limited: {
    class: 'ResourceExhausted',
    http: 424,
    fault: 'model',
    meaning: 'The model provider limits the rate or the quota is used up.',
  },
  model_context_exceeded: {
    class: 'ResourceExhausted',
    http: 424,
    fault: 'model',
    meaning: "The conversation does not fit into the model's context window.",
  },
  engine_not_installed: {
    class: 'EngineUnavailable',
    http: 503,
    fault: 'platform',
    meaning: "The engine's program is not on this host.",
  },
  engine_version_unsupported: {
    class: 'EngineUnavailable',
    http: 503,
    fault: 'platform',
    meaning: "The installed version is outside the adapter's range.",
  },
  engine_start_failed: {
    class: 'EngineUnavailable',
    http: 503,
    fault: 'engine',
    meaning: "The engine's process could not be started or ended before its first word.",
  },
  engine_crashed: {
    class: 'EngineUnavailable',
    http: 500,
    fault: 'engine',
    meaning: "The engine's process ended without saying how the run went.",
  },
  engine_failed: {
    class: 'EngineUnavailable',
    http: 500,
    fault: 'engine',
    meaning: 'The engine itself reported that the run failed.',
  },
  protocol_violation: {
    class: 'ProtocolError',
    http: 500,
    fault: 'engine',
    meaning: "The engine's output contradicts its protocol.",
  },
  output_limit: {
    class: 'ResourceExhausted',
    http: 500,
    fault: 'engine',
    meaning: 'More output than the run may produce.',
  },
  memory_limit: {
    class: 'ResourceExhausted',
    http: 500,
    fault: 'engine',
    meaning: 'More memory than the run may use.',
  },
  quota_exceeded: {
    class: 'ResourceExhausted',
    http: 429,
    fault: 'caller',
    meaning: "The tenant's limit is reached; the run waits or the request is to be repeated.",
  },
  throttled: {
    class: 'ResourceExhausted',
    http: 503,
    fault: 'platform',
    meaning: 'Too much at once; repeat after a delay.',
  },
  run_timed_out: {
    class: 'Timeout',
    http: 504,
    fault: 'caller',
    meaning: 'The run reached its deadline and was stopped.',
  },
  run_cancelled: {
    class: 'Cancelled',
    http: 409,
    fault: 'caller',
    meaning: 'The run was cancelled on request.',
  },
  budget_exhausted: {
    class: 'BudgetExhausted',
    http: 409,
    fault: 'caller',
    meaning: 'The run used up a budget (tokens, tool calls, cost).',
  },
  workdir_unavailable: {
    class: 'WorkspaceError',
    http: 500,
    fault: 'platform',
    meaning: 'The private working directory could not be made.',
  },
  launch_failed: {
    class: 'EngineUnavailable',
    http: 503,
    fault: 'platform',
    meaning: 'The task could not be started.',
  },
  host_lost: {
    class: 'EngineUnavailable',
    http: 500,
    fault: 'platform',
    meaning: 'The host of the run is gone without a result.',
  },
  dead_lettered: {
    class: 'InternalError',
    http: 500,
    fault: 'platform',
    meaning: 'The launch message failed too often and was set aside.',
  },
  ticket_refused: {
    class: 'PermissionDenied',
    http: 403,
    fault: 'platform',
    meaning: 'The launch ticket is used, expired or of another attempt.',
  },
  authority_lost: {
    class: 'PermissionDenied',
    http: 409,
    fault: 'platform',
    meaning: 'Another attempt or an ending took this run away from the host.',
  },
  internal: {
    class: 'InternalError',
    http: 500,
    fault: 'platform',
    meaning: 'A fault of the platform; the request id finds it in the logs.',
  },
} as const satisfies Record<string, ErrorSpec>;
export type ErrorCode = keyof typeof ERROR_SPECS;
