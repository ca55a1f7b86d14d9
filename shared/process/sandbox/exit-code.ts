import { constants } from 'node:os';
import type { ProcessExit } from '../process-outcome.ts';

const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name]),
);

/**
 * A launcher reports a death by signal `n` as exit code `128 + n`. Told apart from a program that chose such
 * a code it cannot be; shells agree on the meaning, so it is read as the signal.
 */
export function exitOfShellCode(code: number | null, signal: string | null = null): ProcessExit {
  const name = code === null ? undefined : SIGNAL_NAMES.get(code - 128);
  return name === undefined ? { code, signal } : { code: null, signal: name };
}
