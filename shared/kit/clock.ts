/** The time of day. Everything that compares or stores time takes a `Clock`, so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** ISO 8601 in UTC with milliseconds, the only form in which times are stored or sent. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
