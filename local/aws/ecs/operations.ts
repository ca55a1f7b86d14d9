import { AwsError } from '#local/aws/kit/aws-error.ts';
import { stableHash } from '#shared/kit/stable-hash.ts';
import { type Clusters, lastPart } from './clusters.ts';
import { newTask } from './new-task.ts';
import { checkRunTask, type RunTaskRequest } from './run-task-request.ts';
import type { TaskDefinitions } from './task-definitions.ts';
import { arnOf, type Place, type Tag, type Task, type TaskRecord } from './task-record.ts';
import type { TaskStore } from './task-store.ts';
import type { TaskSupervisor } from './task-supervisor.ts';

const MAX_DESCRIBED = 100;
const PAGE = 100;

/** What the operations work on. */
export interface EcsParts {
  readonly clusters: Clusters;
  readonly definitions: TaskDefinitions;
  readonly store: TaskStore;
  readonly supervisor: TaskSupervisor;
  readonly place: Place;
  readonly admit: Admit | undefined;
}

/** Refuses a launch: the answer becomes an entry of `failures[]`. */
export type Admit = (request: RunTaskRequest) => { reason: string; detail?: string } | undefined;

interface ListTasksRequest {
  readonly cluster?: string;
  readonly desiredStatus?: string;
  readonly family?: string;
  readonly startedBy?: string;
  readonly serviceName?: string;
  readonly containerInstance?: string;
  readonly launchType?: string;
  readonly maxResults?: number;
  readonly nextToken?: string;
}

const invalid = (message: string) => new AwsError('InvalidParameterException', message);
const answered = (record: TaskRecord): Task & { tags: Tag[] } => ({
  ...record.task,
  tags: record.tags,
});

export function runTask(
  { clusters, definitions, store, supervisor, place, admit }: EcsParts,
  input: RunTaskRequest,
) {
  const clusterName = clusters.mustName(input.cluster);
  const definition = definitions.find(input.taskDefinition)?.taskDefinition;
  if (!definition) throw new AwsError('ClientException', 'TaskDefinition not found.');
  checkRunTask(input, definition);
  store.prune();
  const { clientToken, ...asked } = input;
  const fingerprint = stableHash(asked);
  const used = clientToken === undefined ? undefined : store.findToken(clusterName, clientToken);
  if (used) {
    const bought = used.taskIds.map((id) => store.get(id)).filter((record) => record !== undefined);
    if (used.fingerprint === fingerprint) return { tasks: bought.map(answered), failures: [] };
    throw new AwsError(
      'ConflictException',
      'The clientToken was already used with other parameters.',
      { extra: { resourceIds: bought.map((record) => record.task.taskArn) } },
    );
  }
  const made: TaskRecord[] = [];
  const failures: { reason: string; detail?: string }[] = [];
  for (let index = 0; index < (input.count ?? 1); index += 1) {
    const refusal = admit?.(input);
    if (refusal) failures.push(refusal);
    else made.push(newTask(place, clusterName, definition, input));
  }
  store.add(made, clientToken === undefined ? undefined : { value: clientToken, fingerprint });
  for (const record of made) supervisor.start(record.id);
  return { tasks: made.map(answered), failures };
}

export function describeTasks(
  { clusters, store, place }: EcsParts,
  input: { cluster?: string; tasks?: readonly string[]; include?: readonly string[] },
) {
  const clusterName = clusters.mustName(input.cluster);
  const asked = input.tasks ?? [];
  if (asked.length === 0) throw invalid('Tasks cannot be empty.');
  if (asked.length > MAX_DESCRIBED)
    throw invalid(`At most ${MAX_DESCRIBED} tasks can be described.`);
  const tasks: Task[] = [];
  const failures: { arn: string; reason: string }[] = [];
  for (const id of asked.map(lastPart)) {
    const record = store.get(id);
    if (!record || record.clusterName !== clusterName) {
      failures.push({ arn: arnOf(place, `task/${clusterName}/${id}`), reason: 'MISSING' });
    } else {
      tasks.push(input.include?.includes('TAGS') ? answered(record) : record.task);
    }
  }
  return { tasks, failures };
}

export function listTasks({ clusters, store }: EcsParts, input: ListTasksRequest) {
  const { startedBy, family, desiredStatus = 'RUNNING', maxResults = PAGE } = input;
  if (!Number.isInteger(maxResults) || maxResults < 1 || maxResults > PAGE) {
    throw invalid(`maxResults must be between 1 and ${PAGE}.`);
  }
  const others = [family, input.serviceName, input.containerInstance, input.launchType];
  if (startedBy !== undefined && others.some((filter) => filter !== undefined)) {
    throw invalid('startedBy must be the only filter.');
  }
  const listed = store.list({
    clusterName: clusters.mustName(input.cluster),
    desiredStatus,
    limit: maxResults + 1,
    ...(family === undefined ? {} : { family }),
    ...(startedBy === undefined ? {} : { startedBy }),
    ...(input.nextToken === undefined ? {} : { afterSeq: readToken(input.nextToken) }),
  });
  const page = listed.slice(0, maxResults);
  const last = page.at(-1);
  return {
    taskArns: page.map(({ record }) => record.task.taskArn),
    ...(listed.length > maxResults && last ? { nextToken: writeToken(last.seq) } : {}),
  };
}

const writeToken = (seq: number): string => Buffer.from(`after:${seq}`).toString('base64');

function readToken(token: string): number {
  const [, seq] = /^after:(\d+)$/.exec(Buffer.from(token, 'base64').toString()) ?? [];
  if (seq === undefined) throw invalid('Invalid token.');
  return Number(seq);
}

export function stopTask(
  { clusters, store, supervisor }: EcsParts,
  input: { cluster?: string; task?: string; reason?: string },
) {
  const clusterName = clusters.mustName(input.cluster);
  const record = store.get(lastPart(input.task));
  if (record?.clusterName !== clusterName) throw invalid('The referenced task was not found.');
  const reason = input.reason ?? 'Task stopped by user';
  return { task: answered(supervisor.stop(record, { code: 'UserInitiated', reason })) };
}

export function tagResource(
  { store }: EcsParts,
  input: { resourceArn?: string; tags?: readonly Tag[] },
) {
  const id = lastPart(input.resourceArn);
  if (!store.get(id)) {
    throw new AwsError('ResourceNotFoundException', 'The specified resource was not found.');
  }
  store.note(id, (record) => {
    const merged = new Map([...record.tags, ...(input.tags ?? [])].map((tag) => [tag.key, tag]));
    record.tags = [...merged.values()];
  });
  return {};
}

export function describeTaskDefinition(
  { definitions }: EcsParts,
  input: { taskDefinition?: string; include?: readonly string[] },
) {
  const found = definitions.find(input.taskDefinition);
  if (!found) throw new AwsError('ClientException', 'Unable to describe task definition.');
  return input.include?.includes('TAGS') ? found : { taskDefinition: found.taskDefinition };
}

export function describeClusters(
  { clusters, store, place }: EcsParts,
  input: { clusters?: readonly string[] },
) {
  const names = (input.clusters ?? ['default']).map(lastPart);
  return {
    clusters: names
      .filter((name) => clusters.has(name))
      .map((name) => ({
        ...clusters.describe(name),
        runningTasksCount: store.count(name, ['RUNNING']),
        pendingTasksCount: store.count(name, ['PROVISIONING', 'PENDING']),
      })),
    failures: names
      .filter((name) => !clusters.has(name))
      .map((name) => ({ arn: arnOf(place, `cluster/${name}`), reason: 'MISSING' })),
  };
}
