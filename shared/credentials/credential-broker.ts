import { PlatformError } from '#shared/contracts/index.ts';

/** Where secret values are kept. `read` answers undefined when there is no such secret. */
export interface Vault {
  read(secretName: string): Promise<string | undefined>;
}

/**
 * Gives a host the tenant's credentials that its run was granted, and no others. The tenant comes from the host's
 * verified token, the names from the attempt's snapshot, so neither can be chosen by an engine.
 *
 * @throws PlatformError `credential_unavailable`, naming the credential
 */
export async function grantCredentials(
  vault: Vault,
  prefix: string,
  grant: { tenantId: string; names: readonly string[] },
): Promise<Record<string, string>> {
  const granted: Record<string, string> = {};
  for (const name of grant.names) {
    const value = await vault.read(`${prefix}${grant.tenantId}/${name}`);
    if (value === undefined) {
      throw new PlatformError('credential_unavailable', `the tenant has no credential "${name}"`, {
        field: 'config.provider.credential',
        remedy: `store it as the secret ${prefix}${grant.tenantId}/${name}`,
      });
    }
    granted[name] = value;
  }
  return granted;
}
