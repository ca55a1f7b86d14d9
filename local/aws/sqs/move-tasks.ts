import { randomUUID } from 'node:crypto';
import { atomically, type StateDatabase } from '../kit/state-database.ts';
import type { Messages } from './messages.ts';
import type { Queue, Queues } from './queues.ts';
import { invalidValue, sqsError } from './sqs-error.ts';

type Status = 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'FAILED';

interface Task {
  readonly id: string;
  readonly source_arn: string;
  /** Null: each message goes back to the queue it came from. */
  readonly destination_arn: string | null;
  readonly status: Status;
  readonly per_second: number | null;
  readonly moved: number;
  readonly to_move: number;
  readonly failure: string | null;
  readonly started_at: number;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS sqs_move_task (
  id TEXT PRIMARY KEY,
  source_arn TEXT NOT NULL,
  destination_arn TEXT,
  status TEXT NOT NULL,
  per_second INTEGER,
  moved INTEGER NOT NULL,
  to_move INTEGER NOT NULL,
  failure TEXT,
  started_at INTEGER NOT NULL
) WITHOUT ROWID`;

const CHUNK = 100;

/** Moves dead letters back, in the background and across restarts. */
export class MoveTasks {
  readonly #state: StateDatabase;
  readonly #messages: Messages;
  readonly #queues: Queues;
  readonly #now: () => number;
  readonly #wake: (queue: Queue) => void;
  readonly #timers = new Map<string, NodeJS.Timeout>();

  constructor(
    state: StateDatabase,
    messages: Messages,
    queues: Queues,
    now: () => number,
    wake: (queue: Queue) => void,
  ) {
    this.#state = state;
    this.#messages = messages;
    this.#queues = queues;
    this.#now = now;
    this.#wake = wake;
    state.exec(SCHEMA);
    for (const { id } of this.#select("status = 'RUNNING'")) this.#schedule(id, 0);
  }

  start(sourceArn: string, destinationArn: string | undefined, perSecond: number | undefined) {
    const source = this.#existing(sourceArn, 'SourceArn');
    if (this.#queues.sourcesOf(source).length === 0) {
      throw invalidValue('Source queue must be configured as a Dead Letter Queue.');
    }
    if (destinationArn !== undefined) this.#existing(destinationArn, 'DestinationArn');
    if (perSecond !== undefined && !(perSecond >= 1 && perSecond <= 500)) {
      throw invalidValue('MaxNumberOfMessagesPerSecond must be between 1 and 500.');
    }
    if (this.#select("status = 'RUNNING' AND source_arn = ?", sourceArn).length > 0) {
      throw invalidValue(
        'There is already a task running. Only one active task is allowed for a source queue arn at a given time.',
      );
    }
    const id = randomUUID();
    const now = this.#now();
    this.#state
      .prepare('INSERT INTO sqs_move_task VALUES (?, ?, ?, ?, ?, 0, ?, NULL, ?)')
      .run(
        id,
        sourceArn,
        destinationArn ?? null,
        'RUNNING',
        perSecond ?? null,
        this.#messages.count(source, now).visible,
        now,
      );
    this.#schedule(id, 0);
    return { TaskHandle: handleOf({ id, source_arn: sourceArn }) };
  }

  /** The newest tasks of a source queue first. */
  list(sourceArn: string, limit: number) {
    this.#existing(sourceArn, 'SourceArn');
    const tasks = this.#select('source_arn = ? ORDER BY started_at DESC LIMIT ?', sourceArn, limit);
    return { Results: tasks.map(view) };
  }

  cancel(taskHandle: unknown) {
    const { id, sourceArn } = parseHandle(taskHandle);
    this.#existing(sourceArn, 'SourceArn');
    const [task] = this.#select('id = ?', id);
    if (!task) throw sqsError('ResourceNotFoundException', 'Task does not exist.');
    if (task.status !== 'RUNNING') {
      throw sqsError('UnsupportedOperation', 'Only a running task can be cancelled.');
    }
    this.#end(id, 'CANCELLED');
    return { ApproximateNumberOfMessagesMoved: task.moved };
  }

  close(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #schedule(id: string, delayMs: number): void {
    this.#timers.set(
      id,
      setTimeout(() => this.#step(id), delayMs),
    );
  }

  /** Moves one chunk, and says when the next is due. */
  #step(id: string): void {
    this.#timers.delete(id);
    const [task] = this.#select('id = ?', id);
    if (task?.status !== 'RUNNING') return;
    const source = this.#queues.ofArn(task.source_arn);
    if (!source) {
      this.#end(id, 'FAILED', 'AWS.SimpleQueueService.NonExistentQueue');
      return;
    }
    const limit = task.per_second ?? CHUNK;
    const woken = new Set<Queue>();
    const result = atomically(this.#state, () => this.#moveChunk(task, source, limit, woken));
    for (const queue of woken) this.#wake(queue);
    if (result === 'more') this.#schedule(id, task.per_second === null ? 0 : 1000);
    else this.#end(id, result.status, result.failure);
  }

  #moveChunk(task: Task, source: Queue, limit: number, woken: Set<Queue>) {
    const now = this.#now();
    const chunk = this.#messages.redrivable(source, now, limit);
    if (chunk.length === 0) return { status: 'COMPLETED', failure: null } as const;
    for (const [index, { seq, source_arn }] of chunk.entries()) {
      const arn = task.destination_arn ?? source_arn;
      const target = arn === null ? undefined : this.#queues.ofArn(arn);
      if (!target) {
        this.#count(task.id, index);
        const failure =
          arn === null
            ? 'CouldNotDetermineMessageSource'
            : 'AWS.SimpleQueueService.NonExistentQueue';
        return { status: 'FAILED', failure } as const;
      }
      this.#messages.redrive(seq, target, now);
      woken.add(target);
    }
    this.#count(task.id, chunk.length);
    return 'more';
  }

  #count(id: string, moved: number): void {
    this.#state.prepare('UPDATE sqs_move_task SET moved = moved + ? WHERE id = ?').run(moved, id);
  }

  #end(id: string, status: Status, failure: string | null = null): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#state
      .prepare('UPDATE sqs_move_task SET status = ?, failure = ? WHERE id = ?')
      .run(status, failure, id);
  }

  #existing(arn: string, parameter: string): Queue {
    const queue = this.#queues.ofArn(arn);
    if (queue) return queue;
    throw sqsError(
      'ResourceNotFoundException',
      `The resource that you specified for the ${parameter} parameter doesn't exist.`,
    );
  }

  #select(where: string, ...parameters: (string | number)[]): Task[] {
    const statement = this.#state.prepare(`SELECT * FROM sqs_move_task WHERE ${where}`);
    return statement.all(...parameters) as unknown as Task[];
  }
}

function view(task: Task): object {
  return {
    ...(task.status === 'RUNNING' && { TaskHandle: handleOf(task) }),
    Status: task.status,
    SourceArn: task.source_arn,
    ...(task.destination_arn !== null && { DestinationArn: task.destination_arn }),
    ...(task.per_second !== null && { MaxNumberOfMessagesPerSecond: task.per_second }),
    ApproximateNumberOfMessagesMoved: task.moved,
    ApproximateNumberOfMessagesToMove: task.to_move,
    ...(task.failure !== null && { FailureReason: task.failure }),
    StartedTimestamp: task.started_at,
  };
}

const handleOf = (task: Pick<Task, 'id' | 'source_arn'>): string =>
  Buffer.from(JSON.stringify({ taskId: task.id, sourceArn: task.source_arn })).toString('base64');

function parseHandle(handle: unknown): { id: string; sourceArn: string } {
  try {
    const parsed = JSON.parse(Buffer.from(String(handle), 'base64').toString());
    if (typeof parsed.taskId === 'string' && typeof parsed.sourceArn === 'string') {
      return { id: parsed.taskId, sourceArn: parsed.sourceArn };
    }
  } catch {
    // Not a handle of ours; answered below.
  }
  throw invalidValue('Value for parameter TaskHandle is invalid.');
}
