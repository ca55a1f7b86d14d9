/** Names content of one run by what it is: the same content has one name, and a name never gets other content. */
export interface BlobKey {
  readonly tenantId: string;
  readonly runId: string;
  /** Of the content, in lower hexadecimal. */
  readonly sha256: string;
}

export interface StoredBlob {
  readonly bytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** What is too large for the table. Objects are immutable; they end with the bucket's own retention. */
export interface BlobStore {
  /**
   * Keeps JSON under its hash, whole or not at all. There already: nothing is written, and that is no error. The store
   * checks the hash of what it received once more.
   */
  put(key: BlobKey, content: Uint8Array): Promise<void>;
  /** Undefined when there is none, or none any more. */
  read(key: BlobKey): Promise<StoredBlob | undefined>;
}

/**
 * No epoch in it: a host that lost its run can only add content that nothing points to, and two attempts that say the
 * same share it.
 */
export function blobName({ tenantId, runId, sha256 }: BlobKey): string {
  return `runs/${tenantId}/${runId}/${sha256}`;
}
