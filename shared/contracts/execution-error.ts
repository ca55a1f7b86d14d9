import { z } from 'zod';
import { ERROR_CLASSES, ERROR_SPECS, type ErrorClass, type ErrorCode } from './error-table.ts';

export const ERROR_CODES = Object.keys(ERROR_SPECS) as [ErrorCode, ...ErrorCode[]];
export const errorCodeSchema = z.enum(ERROR_CODES);
export const errorClassSchema = z.enum(Object.keys(ERROR_CLASSES) as [ErrorClass, ...ErrorClass[]]);

/** Whether the run may have changed something outside: `none` is only said when it is known. */
export const sideEffectsSchema = z.enum(['none', 'maybe']);
export type SideEffects = z.infer<typeof sideEffectsSchema>;

/** CON-4: an error on the wire and in the ledger. `field` and `remedy` are for people, `details` for programs. */
export const executionErrorSchema = z.strictObject({
  class: errorClassSchema,
  code: errorCodeSchema,
  message: z.string().max(4_000),
  sideEffects: sideEffectsSchema,
  field: z.string().max(200).optional(),
  remedy: z.string().max(1_000).optional(),
  details: z.record(z.string(), z.json()).optional(),
});
export type ExecutionError = z.infer<typeof executionErrorSchema>;

export interface ErrorOptions {
  readonly sideEffects?: SideEffects;
  readonly field?: string;
  readonly remedy?: string;
  readonly details?: Record<string, z.infer<ReturnType<typeof z.json>>>;
}

/** Builds the wire record; class and side effects follow the table unless said otherwise. */
export function executionError(
  code: ErrorCode,
  message: string,
  options: ErrorOptions = {},
): ExecutionError {
  const spec = ERROR_SPECS[code];
  const { sideEffects, ...rest } = options;
  return {
    class: spec.class,
    code,
    message: message.length > 4_000 ? `${message.slice(0, 3_990)}…` : message,
    // A timeout never knows how far the work got.
    sideEffects: spec.class === 'Timeout' ? 'maybe' : (sideEffects ?? 'none'),
    ...rest,
  };
}

/** The one error class that is thrown. Compare `code`, not `instanceof`, past a process boundary. */
export class PlatformError extends Error {
  readonly record: ExecutionError;

  constructor(code: ErrorCode, message: string, options: ErrorOptions & { cause?: unknown } = {}) {
    const { cause, ...rest } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PlatformError';
    this.record = executionError(code, message, rest);
  }

  get code(): ErrorCode {
    return this.record.code;
  }
}

/** The only normaliser of unknown faults. The message of a foreign error is kept for logs in `cause`, not sent out. */
export function toPlatformError(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  return new PlatformError('internal', 'an unexpected error occurred', {
    sideEffects: 'maybe',
    cause: error,
  });
}
