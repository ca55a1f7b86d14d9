import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { Vault } from './credential-broker.ts';

/** The vault on AWS Secrets Manager. Nothing is cached: a rotated or revoked secret is so at the next read. */
export class SecretsVault implements Vault {
  readonly #client: SecretsManagerClient;

  constructor(client: SecretsManagerClient) {
    this.#client = client;
  }

  async read(secretName: string): Promise<string | undefined> {
    try {
      const reply = await this.#client.send(new GetSecretValueCommand({ SecretId: secretName }));
      return reply.SecretString;
    } catch (error) {
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    }
  }
}
