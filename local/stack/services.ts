import { openDynamo } from '#local/aws/dynamo/service.ts';
import { type Ecs, openEcs } from '#local/aws/ecs/index.ts';
import { openEvents } from '#local/aws/events/events.ts';
import type { Deliver } from '#local/aws/events/outbox.ts';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import type { StateDatabase } from '#local/aws/kit/state-database.ts';
import { openS3 } from '#local/aws/s3/s3.ts';
import { openSecrets } from '#local/aws/secrets/secrets.ts';
import { openSqs, type Sqs } from '#local/aws/sqs/sqs.ts';
import { type LambdaInvoker, lambdaInvokeApi } from '#local/lambda/index.ts';
import type { DataFolder } from './data-folder.ts';
import { PLACE } from './place.ts';
import { HOST_IMAGE } from './provision.ts';

export interface Services {
  readonly endpoint: AwsEndpoint;
  readonly ecs: Ecs;
  readonly sqs: Sqs;
  /** Answers nothing more; the state may be closed after it. */
  close(): Promise<void>;
}

/** Every AWS service the platform uses, on one loopback port of this process. */
export async function startServices(options: {
  folder: DataFolder;
  state: StateDatabase;
  port: number;
  /** Command of the runtime host, and the environment its tasks start with. */
  host: { command: string[]; cwd: string; env: Record<string, string> };
  /** What people may invoke. */
  operators: (functionName: string) => LambdaInvoker | undefined;
  /** Brings an event of the bus to a target that is no queue; called from the first moment on with what an earlier stack left. */
  deliver: Deliver;
}): Promise<Services> {
  const { state, folder } = options;
  const place = { state, ...PLACE };
  let url = '';
  const sqs = openSqs({ ...place, endpointUrl: () => url });
  const events = openEvents({
    ...place,
    deliver: async (target, event) => {
      if (!target.arn.startsWith('arn:aws:sqs:')) return options.deliver(target, event);
      sqs.deliver(target.arn.slice(target.arn.lastIndexOf(':') + 1), JSON.stringify(event));
    },
  });
  const ecs = openEcs({
    ...place,
    images: (image) => (image === HOST_IMAGE ? options.host : undefined),
    baseEnv: options.host.env,
    logDir: folder.taskLogs,
    emit: (event) => {
      const { detail, resources } = event as { detail: object; resources?: string[] };
      events.publish({
        source: 'aws.ecs',
        detailType: 'ECS Task State Change',
        detail,
        ...(resources ? { resources } : {}),
      });
    },
  });
  const invoke = lambdaInvokeApi(options.operators);
  const s3 = openS3({ dataDir: folder.objects, state });
  const endpoint = await startAwsEndpoint({
    services: [await openDynamo({ state }), sqs, openSecrets(place), events, ecs],
    fallback: (request, response) => {
      if (!invoke(request, response)) s3(request, response);
    },
    port: options.port,
  });
  url = endpoint.url;
  return {
    endpoint,
    ecs,
    sqs,
    async close() {
      await endpoint.close();
      await s3.close();
    },
  };
}

/** What the AWS SDK reads: all services at one place, with credentials that open nothing else. */
export function sdkEnvironment(endpointUrl: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL: endpointUrl,
    AWS_REGION: PLACE.region,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_EC2_METADATA_DISABLED: 'true',
  };
}
