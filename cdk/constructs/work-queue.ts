import { Duration } from 'aws-cdk-lib';
import { type DeadLetterQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type PlatformContext, physicalName } from '../platform-context.ts';

const LONGEST_RETENTION = Duration.days(14);
/** Well under the retention of the dead letters, whose age counts from the first queue. */
const WORK_RETENTION = Duration.days(4);

interface QueueSettings {
  readonly context: PlatformContext;
  readonly name: string;
  readonly visibilityMs?: number;
}

/** A queue and where its messages go after `maxReceives` attempts. */
export class WorkQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(
    scope: Construct,
    id: string,
    props: QueueSettings & {
      readonly visibilityMs: number;
      readonly maxReceives: number;
      readonly deadLetterVisibilityMs: number;
    },
  ) {
    super(scope, id);
    this.deadLetters = parkingQueue(this, 'DeadLetters', {
      context: props.context,
      name: `${props.name}-dead-letter`,
      visibilityMs: props.deadLetterVisibilityMs,
    });
    this.queue = createQueue(this, 'Queue', props, WORK_RETENTION, {
      queue: this.deadLetters,
      maxReceiveCount: props.maxReceives,
    });
  }
}

/** A queue that only keeps what failed elsewhere, for people and for redrives. */
export function parkingQueue(scope: Construct, id: string, settings: QueueSettings): Queue {
  return createQueue(scope, id, settings, LONGEST_RETENTION);
}

function createQueue(
  scope: Construct,
  id: string,
  settings: QueueSettings,
  retentionPeriod: Duration,
  deadLetterQueue?: DeadLetterQueue,
): Queue {
  return new Queue(scope, id, {
    queueName: physicalName(settings.context.config, settings.name),
    // Messages carry ids only; a key of our own would need a grant for each sender, AWS services included.
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod,
    ...(settings.visibilityMs === undefined
      ? {}
      : { visibilityTimeout: Duration.millis(settings.visibilityMs) }),
    ...(deadLetterQueue ? { deadLetterQueue } : {}),
  });
}
