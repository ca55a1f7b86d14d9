import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSqs } from '#local/aws/sqs/sqs.ts';

// Serves SQS from the state file given, until it is killed or its parent is gone.
const [statePath] = process.argv.slice(2);
let url = '';
const sqs = openSqs({
  state: openStateDatabase(statePath),
  region: 'us-east-1',
  accountId: '000000000000',
  endpointUrl: () => url,
});
const endpoint = await startAwsEndpoint({ services: [sqs] });
url = endpoint.url;
process.stdin.resume().once('end', () => process.exit());
process.stdout.write(`${url}\n`);
