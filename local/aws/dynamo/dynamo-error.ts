import { AwsError } from '../kit/aws-error.ts';

/** How dynalite's modules report an AWS error: thrown or passed to a callback. */
interface DynaliteError extends Error {
  statusCode: number;
  body: { __type: string; message?: string; Message?: string };
}

export function validationError(message: string): AwsError {
  return new AwsError('ValidationException', message);
}

/** Turns what dynalite throws into an {@link AwsError}; anything else, a fault of ours, is returned as it is. */
export function toAwsError(error: unknown): unknown {
  if (error instanceof AwsError || !isDynaliteError(error)) return error;
  const { __type, message, Message } = error.body;
  const type = __type.slice(__type.indexOf('#') + 1);
  return new AwsError(type, message ?? Message ?? '', { statusCode: error.statusCode });
}

function isDynaliteError(error: unknown): error is DynaliteError {
  return error instanceof Error && 'body' in error && 'statusCode' in error;
}
