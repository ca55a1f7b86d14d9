import { randomUUID } from 'node:crypto';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { invokeAsync } from './async-invocation.ts';
import { type EventSource, Pause } from './event-source.ts';
import type { LambdaInvoker } from './invoker.ts';

export interface ScheduleSourceOptions {
  /** Names the schedule in its ARN and on disk. */
  readonly name: string;
  readonly everyMs: number;
  readonly invoker: LambdaInvoker;
  /** Keeps when it ran last. */
  readonly state: StateDatabase;
  readonly region: string;
  readonly accountId: string;
  /** After a failed invocation; 2 as for asynchronous invocations. A retry delays the next run. */
  readonly maxRetries?: number;
  readonly retryDelayMs?: (retry: number) => number;
}

export interface ScheduleSource extends EventSource {
  /** Milliseconds since the epoch. */
  nextRunAt(): number;
}

/** What a timer can wait. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Invokes a function every `everyMs`, one run at a time: a run that is due while another one goes on comes after
 * it. However many runs were missed while nothing ran, a start makes up for them with one.
 */
export function startScheduleSource(options: ScheduleSourceOptions): ScheduleSource {
  const { name, everyMs, invoker, state } = options;
  const stopping = new AbortController();
  const pause = new Pause();
  state.exec(`CREATE TABLE IF NOT EXISTS lambda_schedules (
    name TEXT PRIMARY KEY, ran_at INTEGER NOT NULL) STRICT`);
  const row = state.prepare('SELECT ran_at FROM lambda_schedules WHERE name=?').get(name);
  let nextAt = row ? Number(row.ran_at) + everyMs : Date.now() + everyMs;

  const run = async () => {
    while (!stopping.signal.aborted) {
      const leftMs = nextAt - Date.now();
      if (leftMs > 0) {
        await pause.wait(Math.min(leftMs, LONGEST_TIMER_MS));
        continue;
      }
      const now = Date.now();
      // Recorded first: a run that kills the stack is not repeated at once by its restart.
      state.prepare('INSERT OR REPLACE INTO lambda_schedules VALUES (?, ?)').run(name, now);
      nextAt = now + everyMs;
      await invokeAsync(
        {
          invoker,
          signal: stopping.signal,
          onDeadLetter: () => {},
          ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
          ...(options.retryDelayMs ? { retryDelayMs: options.retryDelayMs } : {}),
        },
        scheduledEvent(options, now),
      ).catch((error: unknown) => {
        if (!stopping.signal.aborted) console.error(`schedule ${name}:`, error);
      });
    }
  };

  const running = run();
  return {
    nextRunAt: () => nextAt,
    async stop() {
      stopping.abort();
      pause.wake();
      await running;
    },
  };
}

/** The default input of an EventBridge schedule. */
function scheduledEvent({ name, region, accountId }: ScheduleSourceOptions, nowMs: number) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.scheduler',
    account: accountId,
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    region,
    resources: [`arn:aws:scheduler:${region}:${accountId}:schedule/default/${name}`],
    detail: '{}',
  };
}
