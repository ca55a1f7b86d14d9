import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createExecutionTokens, type ExecutionTokens } from '#shared/auth/index.ts';
import { systemClock } from '#shared/kit/clock.ts';

/**
 * The environment's execution tokens. Its signing secret is read once per execution environment; a failed read is
 * tried again at the next call.
 */
export function executionTokensOf(
  client: SecretsManagerClient,
  secretId: string,
): () => Promise<ExecutionTokens> {
  let known: Promise<ExecutionTokens> | undefined;
  return () => {
    known ??= client
      .send(new GetSecretValueCommand({ SecretId: secretId }))
      .then(({ SecretString }) => {
        if (!SecretString) throw new Error(`secret ${secretId} is empty`);
        return createExecutionTokens(SecretString, systemClock.now);
      });
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}
