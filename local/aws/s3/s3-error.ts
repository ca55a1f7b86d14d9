import { AwsError } from '../kit/aws-error.ts';

const STATUS_CODES = {
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  BucketNotEmpty: 409,
  IncompleteBody: 400,
  InternalError: 500,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidDigest: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedXML: 400,
  MetadataTooLarge: 400,
  MethodNotAllowed: 405,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  XAmzContentSHA256Mismatch: 400,
} as const;

export type S3ErrorCode = keyof typeof STATUS_CODES;

/** An error as S3 answers it, in XML. `fields` are further elements, such as `Key`. */
export function s3Error(
  code: S3ErrorCode,
  message: string,
  fields: Record<string, string> = {},
): AwsError {
  return new AwsError(code, message, { statusCode: STATUS_CODES[code], extra: fields });
}

export const noSuchBucket = (bucket: string): AwsError =>
  s3Error('NoSuchBucket', 'The specified bucket does not exist', { BucketName: bucket });

export const noSuchKey = (key: string): AwsError =>
  s3Error('NoSuchKey', 'The specified key does not exist.', { Key: key });

export const preconditionFailed = (condition: string): AwsError =>
  s3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold', {
    Condition: condition,
  });
