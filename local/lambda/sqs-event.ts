import type { Message, MessageAttributeValue } from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSMessageAttributes, SQSRecordAttributes } from 'aws-lambda';

/** The event a function gets for messages of a queue. */
export function toSqsEvent(
  messages: readonly Message[],
  queue: { arn: string; region: string },
): SQSEvent {
  return {
    Records: messages.map((message) => ({
      messageId: message.MessageId ?? '',
      receiptHandle: message.ReceiptHandle ?? '',
      body: message.Body ?? '',
      attributes: (message.Attributes ?? {}) as unknown as SQSRecordAttributes,
      messageAttributes: toMessageAttributes(message.MessageAttributes ?? {}),
      ...(message.MD5OfMessageAttributes
        ? { md5OfMessageAttributes: message.MD5OfMessageAttributes }
        : {}),
      md5OfBody: message.MD5OfBody ?? '',
      eventSource: 'aws:sqs',
      eventSourceARN: queue.arn,
      awsRegion: queue.region,
    })),
  };
}

function toMessageAttributes(
  attributes: Readonly<Record<string, MessageAttributeValue>>,
): SQSMessageAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { StringValue, BinaryValue, DataType = '' }]) => [
      name,
      {
        ...(StringValue === undefined ? {} : { stringValue: StringValue }),
        ...(BinaryValue === undefined
          ? {}
          : { binaryValue: Buffer.from(BinaryValue).toString('base64') }),
        stringListValues: [],
        binaryListValues: [],
        dataType: DataType,
      },
    ]),
  );
}
