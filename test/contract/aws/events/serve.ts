import { openEvents } from '#local/aws/events/events.ts';
import { startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';

// Serves EventBridge from the state file given, and posts each delivery to the URL given, until it is killed.
const [statePath, deliverTo = ''] = process.argv.slice(2);
const events = openEvents({
  state: openStateDatabase(statePath),
  region: 'us-east-1',
  accountId: '000000000000',
  maxAttempts: 1000,
  retryDelayMs: () => 20,
  async deliver(target, event) {
    const body = JSON.stringify({ target, event });
    const answer = await fetch(deliverTo, { method: 'POST', body });
    if (!answer.ok) throw new Error(`the target answered ${answer.status}`);
  },
});
const endpoint = await startAwsEndpoint({ services: [events] });
process.stdin.resume().once('end', () => process.exit());
process.stdout.write(`${endpoint.url}\n`);
