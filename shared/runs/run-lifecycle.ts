import { RUN_STATUSES, type RunStatus } from '#shared/contracts/index.ts';

/**
 * Every transition a run may make. Conditions of the table, documentation and tests are all derived from it.
 * `queued` can be reached again (another attempt); nothing leaves a terminal status.
 */
export const TRANSITIONS = {
  queued: ['starting', 'cancelled', 'failed', 'timed_out'],
  starting: ['running', 'cancelling', 'queued', 'failed', 'timed_out'],
  running: [
    'cancelling',
    'queued',
    'completed',
    'failed',
    'cancelled',
    'timed_out',
    'budget_exhausted',
  ],
  cancelling: ['cancelled', 'timed_out'],
  completed: [],
  failed: [],
  cancelled: [],
  timed_out: [],
  budget_exhausted: [],
} as const satisfies Record<RunStatus, readonly RunStatus[]>;

export function canTransition(from: RunStatus, to: RunStatus): boolean {
  return (TRANSITIONS[from] as readonly RunStatus[]).includes(to);
}

/** The statuses from which `to` can be reached: the guard of every write that sets it. */
export function sourcesOf(to: RunStatus): RunStatus[] {
  return RUN_STATUSES.filter((from) => canTransition(from, to));
}

/** Statuses in which a run holds a quota slot and a task may be alive. */
export const ACTIVE_STATUSES = [
  'starting',
  'running',
  'cancelling',
] as const satisfies readonly RunStatus[];

export function isActive(status: RunStatus): boolean {
  return (ACTIVE_STATUSES as readonly RunStatus[]).includes(status);
}
