import { randomUUID } from 'node:crypto';
import type { Place, Task } from './task-record.ts';

/** An event as EventBridge delivers it. Its own `version` is always "0"; `detail.version` orders a task's. */
export interface TaskStateChange {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': 'ECS Task State Change';
  readonly source: 'aws.ecs';
  readonly account: string;
  readonly time: string;
  readonly region: string;
  readonly resources: readonly [taskArn: string];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The event form of a task: its times are ISO strings, and its health is left out. */
export function taskStateChange(place: Place, task: Task): TaskStateChange {
  const { healthStatus: _, ...described } = task;
  const now = new Date().toISOString();
  const detail = Object.fromEntries(
    Object.entries(described).map(([name, value]) => [
      name,
      name.endsWith('At') && typeof value === 'number'
        ? new Date(value * 1000).toISOString()
        : value,
    ]),
  );
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'ECS Task State Change',
    source: 'aws.ecs',
    account: place.accountId,
    // EventBridge cuts the fraction off.
    time: now.replace(/\.\d+Z$/, 'Z'),
    region: place.region,
    resources: [task.taskArn],
    detail: { ...detail, updatedAt: now },
  };
}
