import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { LaunchMessage } from '#shared/contracts/index.ts';
import type { RunQueue } from './ports.ts';

const MAX_DELAY_SECONDS = 900;

/** The runs queue on SQS: a standard queue whose message group is the tenant, so that one cannot starve another. */
export class SqsRunQueue implements RunQueue {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async send(message: LaunchMessage, options: { delayMs?: number } = {}): Promise<void> {
    const delaySeconds = Math.min(MAX_DELAY_SECONDS, Math.ceil((options.delayMs ?? 0) / 1000));
    await this.#client.send(
      new SendMessageCommand({
        QueueUrl: this.#queueUrl,
        MessageBody: JSON.stringify(message),
        MessageGroupId: message.tenantId,
        ...(delaySeconds > 0 ? { DelaySeconds: delaySeconds } : {}),
      }),
    );
  }
}
