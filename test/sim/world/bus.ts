import type { PutEventsCommandInput } from '@aws-sdk/client-eventbridge';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Faults } from './faults.ts';
import type { Services } from './service.ts';

/** What the bus took, in its order. */
export interface Publication {
  readonly detailType: string;
  readonly detail: string;
}

/** EventBridge: takes events, and may refuse some of a call that answers 200. */
export class SimulatedBus implements CommandSender {
  readonly #services: Services;
  readonly #faults: Faults;
  readonly publications: Publication[] = [];

  constructor(services: Services, faults: Faults) {
    this.#services = services;
    this.#faults = faults;
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    if (operationOf(command) !== 'PutEvents') throw new TypeError(operationOf(command));
    const { Entries = [] } = command.input as PutEventsCommandInput;
    return this.#services.call({
      service: 'bus',
      what: `PutEvents ${Entries.map(({ DetailType }) => DetailType).join(' ')}`,
      refusal: () => awsFault('InternalException', 'the bus is down', 500),
      effect: () => {
        const answers = Entries.map(({ DetailType = '', Detail = '' }, index) => {
          if (this.#faults.hits('bus.entry_refused')) {
            return { ErrorCode: 'ThrottlingException', ErrorMessage: 'Rate exceeded' };
          }
          this.publications.push({ detailType: DetailType, detail: Detail });
          return { EventId: String(index) };
        });
        const FailedEntryCount = answers.filter(({ ErrorCode }) => ErrorCode).length;
        return { FailedEntryCount, Entries: answers };
      },
    });
  }
}
