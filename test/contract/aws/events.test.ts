import { afterAll, beforeAll } from 'vitest';
import { openEvents } from '#local/aws/events/events.ts';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';
import { EVENTS_DIVERGENCES } from './events.divergences.ts';
import { describeEvents } from './events.suite.ts';

let served: AwsEndpoint | undefined;
const endpoint = () => served?.url ?? '';

beforeAll(async () => {
  const common = { state: openStateDatabase(), region: 'us-east-1', accountId: '000000000000' };
  const sqs = openSqs({ ...common, endpointUrl: endpoint });
  const { signal } = new AbortController();
  const events = openEvents({
    ...common,
    async deliver({ arn }, event) {
      const QueueUrl = `${endpoint()}/${arn.split(':').at(-1)}`;
      const input = { QueueUrl, MessageBody: JSON.stringify(event) };
      await sqs.operations.SendMessage?.(input, { signal });
    },
  });
  served = await startAwsEndpoint({ services: [sqs, events] });
});
afterAll(() => served?.close());

describeEvents({
  name: 'EventBridge on the embedded emulator',
  side: 'embedded',
  endpoint,
  divergences: EVENTS_DIVERGENCES,
});
