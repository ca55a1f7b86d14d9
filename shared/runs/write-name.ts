/**
 * A name for one write, kept in what it writes: who finds it there knows that the write landed although its answer was
 * lost. Compared, never ordered or guessed at.
 */
export function newWriteName(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 16);
}
