import { createHash } from 'node:crypto';

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_CHARACTERS = 26;

/**
 * The run that a client's idempotency key names: of the shape of every run id, but made of a hash, so that the same key
 * of the same tenant always means the same run. It says nothing about the time of creation.
 */
export function runIdOfKey(tenantId: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(['idempotency', tenantId, key]))
    .digest('hex');
  let rest = BigInt(`0x${digest.slice(0, 32)}`);
  let text = '';
  for (let index = 0; index < ULID_CHARACTERS; index += 1) {
    text = CROCKFORD[Number(rest % 32n)] + text;
    rest /= 32n;
  }
  return `run_${text}`;
}
