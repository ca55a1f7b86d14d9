import middy from '@middy/core';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import type { z } from 'zod';
import { toPlatformError } from '#shared/contracts/index.ts';
import type { Logger } from '#shared/orchestrator/index.ts';
import { type BatchAnswer, batchAnswer } from './batch-answer.ts';

/**
 * One Lambda behind an SQS queue, answering partial failures. Each record stands alone: a body that cannot be parsed
 * is reported (it ends in the dead-letter queue) and its neighbours are handled (B53). Any error brings the message
 * back; after too many the dead-letter function ends the run.
 */
export function queueFunction<Message>(options: {
  log: Logger;
  message: z.ZodType<Message>;
  run: (message: Message, record: SQSRecord) => Promise<void>;
  /** For a body that is no message: the last stop has nowhere to send it on. */
  malformed: 'fail' | 'drop';
}) {
  return middy<SQSEvent, BatchAnswer>().handler(async ({ Records }) => {
    const outcomes = await Promise.all(Records.map((record) => handle(record, options)));
    const ids = Records.map(({ messageId }) => messageId);
    return batchAnswer(
      ids,
      ids.filter((_, index) => outcomes[index] === 'failed'),
    );
  });
}

async function handle<Message>(
  record: SQSRecord,
  options: Parameters<typeof queueFunction<Message>>[0],
): Promise<'done' | 'failed'> {
  const message = parse(record.body, options.message);
  if (message === undefined) {
    options.log.error(
      { messageId: record.messageId },
      'message body is not what this queue carries',
    );
    return options.malformed === 'fail' ? 'failed' : 'done';
  }
  try {
    await options.run(message, record);
    return 'done';
  } catch (error) {
    const known = toPlatformError(error);
    options.log.error(
      { messageId: record.messageId, code: known.code, error },
      'message not handled',
    );
    return 'failed';
  }
}

function parse<Message>(body: string, schema: z.ZodType<Message>): Message | undefined {
  try {
    const parsed = schema.safeParse(JSON.parse(body));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
