import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** Reads a secret once per execution environment and keeps it; a failed read is tried again at the next call. */
export function secretReader(
  client: SecretsManagerClient,
  secretId: string,
): () => Promise<string> {
  let known: Promise<string> | undefined;
  return () => {
    known ??= client
      .send(new GetSecretValueCommand({ SecretId: secretId }))
      .then(({ SecretString }) => {
        if (!SecretString) throw new Error(`secret ${secretId} is empty`);
        return SecretString;
      });
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}
