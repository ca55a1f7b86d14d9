import { afterAll, beforeAll } from 'vitest';
import { openInProcessDynamo } from '#local/aws/dynamo/in-process.ts';
import { DYNAMO_DIVERGENCES } from './dynamo.divergences.ts';
import { describeDynamo } from './dynamo.suite.ts';

const dynamo = openInProcessDynamo({ now: Date.now });
let sweeping: NodeJS.Timeout;
beforeAll(() => {
  sweeping = setInterval(() => dynamo.expire(), 20);
});
afterAll(() => clearInterval(sweeping));

// The third implementation has no divergences of its own: it has to behave as the embedded emulator does.
describeDynamo({
  name: 'DynamoDB in process',
  side: 'embedded',
  target: () => ({ dynamo: dynamo.client, streams: dynamo.streams }),
  divergences: DYNAMO_DIVERGENCES,
});
