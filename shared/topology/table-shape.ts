/**
 * The one table: keys, indexes, stream and expiry. Made by the CDK app in the cloud and by the local stack on a
 * laptop, from this description.
 */
export const TABLE_SHAPE = {
  partitionKey: 'pk',
  sortKey: 'sk',
  /** Epoch seconds; only for garbage, never for logic (B94). */
  timeToLive: 'expiresAt',
  stream: 'NEW_AND_OLD_IMAGES',
  indexes: {
    /** Runs of one tenant, newest last. Keys only, which never change: no write of a run touches it after the first. */
    runsByTenant: {
      name: 'runs-by-tenant',
      partitionKey: 'tenantId',
      sortKey: 'createdSk',
      include: [],
    },
    /** Sparse: every pending timer, by shard and due time. The sweeper reads nothing else. */
    due: { name: 'due', partitionKey: 'duePk', sortKey: 'dueAt', include: ['tenantId'] },
  },
} as const;

/** Timers are spread over this many partitions. */
export const DUE_SHARDS = 8;

/** Quota counters are spread over this many partitions, so that a reconciliation can list them without a scan. */
export const QUOTA_PARTITIONS = 16;

/** Partition key prefix of the lists of runs that wait for a slot: the only items that are deleted by hand. */
export const WAIT_LIST_PREFIX = 'WAITING#';

/** Launches that fail this often are set aside in the dead-letter queue. */
export const RUNS_QUEUE_MAX_RECEIVES = 5;
/** At least six times the timeout of `workers/dispatch-run`. */
export const RUNS_QUEUE_VISIBILITY_MS = 360_000;

/**
 * How often the consumer of a stream is given a batch again (the most that Lambda counts), and for how long, before its
 * event source puts the batch aside. Long, because what fails this often is the consumer or what it needs, not a record:
 * it names those itself. Short of the 24 h that a stream keeps.
 */
export const STREAM_MAX_RETRIES = 10_000;
export const STREAM_MAX_AGE_MS = 20 * 3_600_000;

/** Container of the task definition that runs the host. */
export const TASK_CONTAINER_NAME = 'runtime-host';

/** Environment of a task: the only three things it is told. The ticket is dead once used. */
export const TASK_ENVIRONMENT = {
  runId: 'NEXUSDESK_RUN_ID',
  gatewayUrl: 'NEXUSDESK_GATEWAY_URL',
  ticket: 'NEXUSDESK_TICKET',
} as const;

/** `source` of every event on the bus; the detail type is the platform's event type. */
export const BUS_EVENT_SOURCE = 'nexusdesk.runs';
