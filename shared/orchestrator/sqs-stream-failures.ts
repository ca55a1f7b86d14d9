import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { z } from 'zod';
import { runIdSchema, tenantIdSchema } from '#shared/contracts/index.ts';
import type { GivenUpPages, StreamFailures } from './stream-failures.ts';

/** The message, in the queue that also takes what the event source itself gives up. */
export const givenUpMessageSchema = z.strictObject({
  schemaVersion: z.literal('1'),
  kind: z.literal('pages'),
  tenantId: tenantIdSchema,
  runId: runIdSchema,
  fromPage: z.number().int().min(1),
  code: z.string(),
});

export class SqsStreamFailures implements StreamFailures {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async report({ ref, fromPage, code }: GivenUpPages): Promise<void> {
    const { tenantId, runId } = ref;
    const message: z.infer<typeof givenUpMessageSchema> = {
      schemaVersion: '1',
      kind: 'pages',
      ...{ tenantId, runId, fromPage, code },
    };
    await this.#client.send(
      new SendMessageCommand({ QueueUrl: this.#queueUrl, MessageBody: JSON.stringify(message) }),
    );
  }
}
