import { recoveryTimesMs } from './audit.ts';
import type { ChaosResult } from './run-chaos.ts';

/** The table that `npm run chaos` prints. */
export function reportOf(result: ChaosResult): string {
  const { stored, kills, clients, published, violations } = result;
  const alone = kills.filter(({ kind }) => kind !== 'stack_and_hosts');
  const withStack = kills.filter(({ kind }) => kind === 'stack_and_hosts');
  const events = stored.reduce((sum, run) => sum + run.events.length, 0);
  const requeued = stored.flatMap((run) =>
    run.events.filter(({ eventType }) => eventType === 'run.requeued'),
  );
  const rows: [string, string][] = [
    ['runs accepted', String(stored.length)],
    ...countsBy(stored, ({ view }) => view.status).map(([status, count]): [string, string] => [
      `  ${status}`,
      String(count),
    ]),
    ['kills (SIGKILL)', String(kills.length)],
    ...countsBy(kills, ({ kind }) => kind).map(([kind, count]): [string, string] => [
      `  ${kind}`,
      String(count),
    ]),
    ['hosts and engines killed', String(kills.flatMap(({ deaths }) => deaths).length)],
    ['engines started', String(result.engines)],
    ['retries', String(requeued.length)],
    ['death to requeue or end, median and longest', spread(recoveryTimesMs(alone, stored))],
    ['  the same with the stack dead, too', spread(recoveryTimesMs(withStack, stored))],
    ['start of the stack, median and longest', spread(result.starts)],
    ['events stored', String(events)],
    ['events on the bus', `${published.events} (${published.copies} with repeats)`],
    ['repeats of a key answered', String(clients.repeatsAnswered)],
    ['other bodies refused', String(clients.conflictsRefused)],
    ['requests without answer', String(clients.faults)],
    ['streams resumed', String(clients.streamsResumed)],
    ['lost', String(stored.filter(({ run }) => !run.followedToEnd).length)],
    ['doubled', String(stored.filter(({ run }) => run.runIds.size > 1).length)],
    ['violations', String(violations.length)],
    ['wall time', seconds(result.wallMs)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}

function countsBy<T>(items: readonly T[], nameOf: (item: T) => string): [string, number][] {
  const groups = Object.entries(Object.groupBy(items, nameOf));
  return groups.map(([name, group]) => [name, group?.length ?? 0]);
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [middle, longest] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  return middle === undefined || longest === undefined
    ? 'none'
    : `${seconds(middle)} · ${seconds(longest)}`;
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
