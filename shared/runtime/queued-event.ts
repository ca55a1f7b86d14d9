import type { NewEvent } from '#shared/contracts/index.ts';

/** An event on its way to the gateway. */
export interface QueuedEvent {
  readonly event: NewEvent;
  /** Of its JSON, in UTF-8. */
  readonly bytes: number;
  /** Its number among all events of this attempt, from 1, those included that will be lost. */
  readonly produced: number;
}

export const IMPORTANCES = 4;

/**
 * What is dropped first when there is no room: text as it is typed, which its completed message repeats; then the
 * engine's own form of events that the log also has in ours; then what the agent did; at last the life of the run.
 */
export function importanceOf({ event }: QueuedEvent): number {
  if (event.family === 'presentation') return 0;
  if (event.source === 'engine_native') return 1;
  return event.family === 'domain' ? 2 : 3;
}

/** How many of the first entries fit into the limits; one always does. */
export function prefixSize(
  entries: readonly QueuedEvent[],
  limits: { bytes: number; events: number },
): number {
  let bytes = 0;
  let count = 0;
  for (const entry of entries) {
    bytes += entry.bytes;
    if (count > 0 && (count >= limits.events || bytes > limits.bytes)) break;
    count += 1;
  }
  return count;
}

export function bytesOf(entries: readonly QueuedEvent[]): number {
  return entries.reduce((sum, { bytes }) => sum + bytes, 0);
}

export function weightsOf(entries: readonly QueuedEvent[]): number[] {
  const weights = Array<number>(IMPORTANCES).fill(0);
  for (const entry of entries) {
    const importance = importanceOf(entry);
    weights[importance] = (weights[importance] ?? 0) + entry.bytes;
  }
  return weights;
}

export function jsonBytes(event: NewEvent): number {
  return Buffer.byteLength(JSON.stringify(event));
}
