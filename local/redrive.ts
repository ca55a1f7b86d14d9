import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readPorts } from '#local/stack/data-folder.ts';

const USAGE = `npm run redrive -- list                       what is held back, and what waits in the queues of failures
npm run redrive -- parked                     publish and count again all of it
npm run redrive -- run <tenant> <run> [--from <page>] [--to <page>]
                                              publish and count again pages of one run

  --data <folder>   of the running local stack (default .nexusdesk, or NEXUSDESK_DATA)

In the cloud: aws lambda invoke (docs/operations.md).`;

const FUNCTION = 'workers-redrive-pages';

/** Asks the running local stack as `aws lambda invoke` asks the cloud. Exit code 1: something is still held back. */
async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      data: { type: 'string' },
      from: { type: 'string' },
      to: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const request = requestOf(positionals, values);
  if (values.help || !request) {
    (values.help ? console.log : console.error)(USAGE);
    return values.help ? 0 : 64;
  }
  const path = resolve(values.data ?? process.env.NEXUSDESK_DATA ?? '.nexusdesk');
  const ports = readPorts({ path });
  if (!ports) throw new Error(`no local stack has run on ${path}`);
  const url = `http://127.0.0.1:${ports.aws}/2015-03-31/functions/${FUNCTION}/invocations`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(request) }).catch(
    (cause) => {
      throw new Error(`the local stack on ${path} does not answer; start it`, { cause });
    },
  );
  const answer = (await response.json()) as {
    errorMessage?: string;
    complete?: boolean;
    parked?: unknown[];
    waiting?: { outbox: number; usage: number };
    runs?: { stopped?: unknown }[];
  };
  if (response.status !== 200 || response.headers.has('x-amz-function-error')) {
    throw new Error(answer.errorMessage ?? `the function was not invoked: ${response.status}`);
  }
  console.log(JSON.stringify(answer, null, 2));
  const { parked = [], waiting = { outbox: 0, usage: 0 }, runs = [], complete } = answer;
  const left = parked.length + waiting.outbox + waiting.usage;
  return left === 0 && complete && !runs.some(({ stopped }) => stopped) ? 0 : 1;
}

function requestOf(
  [action, tenantId, runId, ...rest]: readonly string[],
  range: { from?: string | undefined; to?: string | undefined },
): object | undefined {
  if ((action === 'list' || action === 'parked') && tenantId === undefined) return { action };
  if (action !== 'run' || !tenantId || !runId || rest.length > 0) return undefined;
  return {
    action: 'runs',
    runs: [
      {
        tenantId,
        runId,
        ...(range.from === undefined ? {} : { fromPage: Number(range.from) }),
        ...(range.to === undefined ? {} : { toPage: Number(range.to) }),
      },
    ],
  };
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`redrive: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 70;
}
