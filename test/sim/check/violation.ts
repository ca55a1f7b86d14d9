/** Something happened that the platform promises never to let happen. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(message);
    this.invariant = invariant;
  }
}

/** What is checked, and what it means. */
export const INVARIANTS = {
  'one-ending': 'A run ends once, and its ending never changes.',
  'final-last': 'The final event is stored exactly once, with the ending, and nothing after it.',
  'dense-log': 'Pages and sequence numbers have no gap and no page is ever changed.',
  'stored-once':
    'An event that a host produced is stored at most once, in the order it was produced.',
  'acknowledged-stored': 'What was acknowledged to a host is in the log.',
  fenced:
    'Only the host of the current epoch writes; after a seal nothing of its epoch is accepted.',
  'one-host': 'One host runs an engine in one epoch.',
  'quota-counted':
    'Quota counters tell how many runs hold a slot, at every moment, within the limit.',
  'usage-summed': 'Usage is counted once for each attempt, as its host reported it.',
  'ends-in-time': 'Every accepted run ends within bounded time.',
  'death-noticed': 'A run whose host died is requeued or ended within 90 seconds.',
  'cancel-kept': 'A run never completes after its cancel was accepted.',
  'no-second-effect':
    'A run that may not repeat and may have had effects never starts an engine again.',
  'bus-complete': 'Every platform event is published, as it is stored, in the order of its run.',
  'reader-complete': 'A reader gets the log: every event once, in order, whatever was cut.',
  'attempts-bounded': 'A run is tried at most as often as its client allowed.',
  'blob-kept': 'An event whose payload is a blob is stored after its blob.',
  'nothing-lost': 'What was accepted stays in the ledger.',
  'no-orphans': 'No task and no host goes on for a run that has ended.',
  'right-answers': 'Clients get the answer that belongs to their request.',
  'timers-cleared': 'Ended runs leave the due index.',
  'no-fault': 'No code fails in a way that nobody expected.',
} as const;
export type Invariant = keyof typeof INVARIANTS;
