import type { BlobStore, StoredBlob } from '#shared/blobs/index.ts';
import { PlatformError, sha256Schema } from '#shared/contracts/index.ts';
import type { RunLedger, RunRef } from '#shared/runs/index.ts';
import { requireRun } from './view-run.ts';

/**
 * The whole payload of an event of this run. The run is looked up first: a hash alone opens nothing.
 *
 * @throws PlatformError `run_not_found`, `blob_not_found`
 */
export async function readBlob(
  deps: { ledger: RunLedger; blobs: BlobStore },
  ref: RunRef,
  sha256: string | undefined,
): Promise<StoredBlob> {
  const name = sha256Schema.safeParse(sha256);
  await requireRun(deps.ledger, ref);
  const found = name.success ? await deps.blobs.read({ ...ref, sha256: name.data }) : undefined;
  if (!found) {
    throw new PlatformError('blob_not_found', 'this run has no such payload, or none any more', {
      field: 'sha256',
      remedy: 'use the sha256 of an event of this run',
    });
  }
  return found;
}
