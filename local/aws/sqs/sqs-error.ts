import { AwsError } from '../kit/aws-error.ts';

/** What the header says in place of the JSON name, where the two differ (SQS spoke XML before JSON). */
const QUERY_CODES: Readonly<Record<string, string>> = {
  InvalidParameterValueException: 'InvalidParameterValue',
  MissingRequiredParameterException: 'MissingParameter',
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  QueueNameExists: 'QueueAlreadyExists',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  PurgeQueueInProgress: 'AWS.SimpleQueueService.PurgeQueueInProgress',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
};

const STATUS_CODES: Readonly<Record<string, number>> = {
  PurgeQueueInProgress: 403,
  ReceiptHandleIsInvalid: 404,
  ResourceNotFoundException: 404,
};

const QUERY_HEADER = 'x-amzn-query-error';

/** An error as SQS sends it: the JSON name in the body, the old code in `x-amzn-query-error`. */
export function sqsError(type: string, message: string): AwsError {
  return new AwsError(`com.amazonaws.sqs#${type}`, message, {
    statusCode: STATUS_CODES[type] ?? 400,
    headers: { [QUERY_HEADER]: `${QUERY_CODES[type] ?? type};Sender` },
  });
}

/** The code of an error in a batch's `Failed` list. */
export function queryCodeOf(error: AwsError): string {
  return error.headers[QUERY_HEADER]?.split(';')[0] ?? error.type;
}

export const invalidValue = (message: string): AwsError =>
  sqsError('InvalidParameterValueException', message);

export const invalidParameter = (name: string, value: unknown, reason: string): AwsError =>
  invalidValue(`Value ${String(value)} for parameter ${name} is invalid. Reason: ${reason}`);

export const missingParameter = (name: string): AwsError =>
  sqsError('MissingRequiredParameterException', `The request must contain the parameter ${name}.`);

export const queueDoesNotExist = (): AwsError =>
  sqsError('QueueDoesNotExist', 'The specified queue does not exist.');

/** Reads an optional whole number of a request within its range. */
export function wholeNumber(name: string, value: unknown, low: number, high: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) {
    return value;
  }
  throw invalidParameter(name, value, `Must be between ${low} and ${high}, if provided.`);
}
