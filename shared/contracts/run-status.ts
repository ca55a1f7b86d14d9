import { z } from 'zod';

export const RUN_STATUSES = [
  'queued',
  'starting',
  'running',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'budget_exhausted',
] as const;
export const runStatusSchema = z.enum(RUN_STATUSES);
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TERMINAL_STATUSES = [
  'completed',
  'failed',
  'cancelled',
  'timed_out',
  'budget_exhausted',
] as const satisfies readonly RunStatus[];
export const terminalStatusSchema = z.enum(TERMINAL_STATUSES);
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];

export function isTerminal(status: RunStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly RunStatus[]).includes(status);
}

/** Exit code of a command that followed a run to its end: 0 only for `completed`. */
export const RUN_EXIT_CODES = {
  completed: 0,
  failed: 1,
  cancelled: 2,
  timed_out: 3,
  budget_exhausted: 4,
} as const satisfies Record<TerminalStatus, number>;
