import type { GetSecretValueCommandInput } from '@aws-sdk/client-secrets-manager';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Services } from './service.ts';

/** Secrets Manager with one secret: what tokens are signed with. */
export class SimulatedSecrets implements CommandSender {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    const { SecretId } = command.input as GetSecretValueCommandInput;
    return this.#services.call({
      service: 'secrets',
      what: `${operationOf(command)} ${SecretId}`,
      refusal: () => awsFault('InternalServiceError', 'secrets are not to be had now', 500),
      effect: () => ({ SecretString: 'a secret of the simulation' }),
    });
  }
}
