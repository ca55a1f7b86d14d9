import { type PutObjectCommandInput, S3ServiceException } from '@aws-sdk/client-s3';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Services } from './service.ts';

/** S3 with one bucket: objects that are put once. */
export class SimulatedBlobs implements CommandSender {
  readonly #services: Services;
  readonly names = new Set<string>();

  constructor(services: Services) {
    this.#services = services;
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    if (operationOf(command) !== 'PutObject') throw new TypeError(operationOf(command));
    const { Key = '' } = command.input as PutObjectCommandInput;
    return this.#services.call({
      service: 'blobs',
      what: `PutObject …${Key.slice(-8)}`,
      refusal: () => awsFault('SlowDown', 'Please reduce your request rate.', 503),
      effect: () => {
        if (this.names.has(Key)) throw alreadyThere();
        this.names.add(Key);
        return {};
      },
    });
  }
}

function alreadyThere(): Error {
  return new S3ServiceException({
    name: 'PreconditionFailed',
    message: 'At least one of the preconditions you specified did not hold.',
    $fault: 'client',
    $metadata: { httpStatusCode: 412 },
  });
}
