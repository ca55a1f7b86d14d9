/**
 * Where events wait that the gateway could not take yet and the host's memory does not hold. Only this host writes and
 * reads it, one call at a time; it is no storage: a host that dies takes it along, because its attempt dies too.
 */
export interface Spool {
  /** Keeps a text under a name, or replaces it. Whole or not at all, as far as the writer can see. */
  write(name: string, text: string): Promise<void>;
  /** @throws when it is not there or cannot be read */
  read(name: string): Promise<string>;
  /** No error when it is not there. */
  remove(name: string): Promise<void>;
  /** Removes everything. */
  discard(): Promise<void>;
}
