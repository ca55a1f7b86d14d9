import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import {
  EventBridgeClient,
  ListRulesCommand,
  PutEventsCommand,
  PutRuleCommand,
  PutTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EmulatorProcess, startEmulators } from './emulator-process.ts';
import { sdkOptions } from './sdk.ts';

interface Delivery {
  readonly target: { readonly arn: string; readonly ruleName: string };
  readonly event: { readonly detail: { readonly run: string } };
}

/** Where the emulator delivers to: refuses until it is told to accept. */
class Target {
  readonly #server: Server;
  accepting = false;
  refused = 0;
  readonly accepted: Delivery[] = [];
  #changed = Promise.withResolvers<void>();

  constructor() {
    this.#server = createServer(async (request, response) => {
      const delivery = (await json(request)) as Delivery;
      if (this.accepting) this.accepted.push(delivery);
      else this.refused += 1;
      response.writeHead(this.accepting ? 200 : 503).end();
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.#changed.promise;
  }

  runs(): Set<string> {
    return new Set(this.accepted.map(({ event }) => event.detail.run));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

describe('EventBridge after its process was killed', () => {
  let directory: string;
  let running: EmulatorProcess;
  let client: EventBridgeClient;
  let target: Target;
  let targetUrl: string;

  const start = async () => {
    running = await startEmulators('./events/serve.ts', join(directory, 'state.db'), targetUrl);
    client = new EventBridgeClient(sdkOptions(running.url));
  };

  const put = (...runs: string[]) =>
    client.send(
      new PutEventsCommand({
        Entries: runs.map((run) => ({
          Source: 'nexusdesk.runs',
          DetailType: 'run.completed',
          Detail: JSON.stringify({ run }),
        })),
      }),
    );

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'nexusdesk-events-'));
    target = new Target();
    targetUrl = await target.listen();
    await start();
    await client.send(
      new PutRuleCommand({ Name: 'runs', EventPattern: '{"source":["nexusdesk.runs"]}' }),
    );
    const Targets = [{ Id: 'queue', Arn: 'arn:aws:sqs:us-east-1:000000000000:usage' }];
    await client.send(new PutTargetsCommand({ Rule: 'runs', Targets }));
  });
  afterEach(async () => {
    await running.kill();
    await target.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('delivers what it had accepted and could not deliver before', async () => {
    const runs = Array.from({ length: 10 }, (_, index) => `run-${index}`);
    await put(...runs);
    await target.until(() => target.refused > 0);
    await running.kill();
    target.accepting = true;
    await start();
    await target.until(() => target.runs().size === runs.length);
    expect(target.runs()).toEqual(new Set(runs));
    expect(target.accepted[0]?.target).toEqual({
      arn: 'arn:aws:sqs:us-east-1:000000000000:usage',
      ruleName: 'runs',
    });
  });

  it('still has its rules', async () => {
    await running.kill();
    await start();
    const { Rules } = await client.send(new ListRulesCommand({}));
    expect(Rules?.map((rule) => rule.Name)).toEqual(['runs']);
    target.accepting = true;
    await put('run-1');
    await target.until(() => target.runs().size === 1);
  });

  it('loses no event that was acknowledged, when it dies in the middle of putting', async () => {
    target.accepting = true;
    const acknowledged: string[] = [];
    const putUntilItDies = async (sender: number) => {
      for (let count = 0; ; count += 1) {
        const run = `${sender}-${count}`;
        await put(run);
        acknowledged.push(run);
        if (acknowledged.length === 40) void running.kill();
      }
    };
    await Promise.allSettled([1, 2, 3, 4].map(putUntilItDies));
    await running.kill();
    await start();
    await target.until(() => acknowledged.every((run) => target.runs().has(run)));
    expect(acknowledged.length).toBeGreaterThanOrEqual(40);
  });
});
