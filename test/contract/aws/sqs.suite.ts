import { type ContractOptions, describeContract } from './divergences.ts';
import { deadLetters } from './sqs/dead-letters.ts';
import { fifo } from './sqs/fifo.ts';
import { messages } from './sqs/messages.ts';
import { queues } from './sqs/queues.ts';
import { visibility } from './sqs/visibility.ts';

/** What SQS does, as calls of the AWS SDK against `endpoint`. */
export function describeSqs(options: ContractOptions & { readonly endpoint: () => string }): void {
  describeContract(options, (it) => {
    const part = { it, endpoint: options.endpoint };
    queues(part);
    messages(part);
    visibility(part);
    fifo(part);
    deadLetters(part);
  });
}
