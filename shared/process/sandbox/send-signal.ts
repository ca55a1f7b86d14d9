/** Sends a signal; false when the process is gone or not ours. Never a group: `pid` must be positive. */
export function killIfAlive(pid: number, signal: NodeJS.Signals): boolean {
  if (!(Number.isSafeInteger(pid) && pid > 1)) return false;
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
