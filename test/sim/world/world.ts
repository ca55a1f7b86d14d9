import type { Logger } from '#shared/orchestrator/index.ts';
import { type Timing, timingSchema } from '#shared/orchestrator/index.ts';
import {
  FUNCTIONS,
  RUNS_QUEUE_MAX_RECEIVES,
  RUNS_QUEUE_VISIBILITY_MS,
} from '#shared/topology/index.ts';
import { type HostWitness, startHost } from '../actors/host.ts';
import type { RunPlan } from '../actors/run-plan.ts';
import type { Kernel } from '../kernel/kernel.ts';
import { Random } from '../kernel/random.ts';
import type { CommandSender } from './aws-fault.ts';
import { SimulatedBlobs } from './blobs.ts';
import { SimulatedBus } from './bus.ts';
import type { Faults } from './faults.ts';
import { Lambdas } from './lambda.ts';
import { Network } from './network.ts';
import { openPlatform, type Platform } from './platform.ts';
import { SimulatedQueue } from './queue.ts';
import { SimulatedSecrets } from './secrets.ts';
import { Services } from './service.ts';
import { SimulatedStream } from './stream.ts';
import { SimulatedTable, type TableHall } from './table.ts';
import { SimulatedTasks } from './tasks.ts';

/** What differs from seed to seed beside the faults. */
export interface WorldSettings {
  readonly timing: Timing;
  readonly tenantRunLimit: number;
  readonly hostRetryForMs: number;
  readonly visibilityMs: number;
}

export function settingsOf(seed: number): WorldSettings {
  const random = new Random(seed, 5);
  const hostRetryForMs = random.pick([20_000, 60_000, 120_000]);
  return {
    timing: timingSchema.parse({
      launchLeaseMs: random.pick([40_000, 90_000, 300_000]),
      silentStopMs: hostRetryForMs + random.pick([30_000, 90_000]),
      requeueBaseMs: random.pick([500, 2_000]),
      quotaWaitMs: random.pick([1_000, 5_000]),
    }),
    tenantRunLimit: random.pick([1, 2, 3, 100]),
    hostRetryForMs,
    // A short one makes messages come back while they are being handled, and reach the dead letters.
    visibilityMs: random.pick([3_000, 20_000, RUNS_QUEUE_VISIBILITY_MS]),
  };
}

export interface WorldOptions {
  readonly seed: number;
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly hall: TableHall;
  readonly plans: readonly RunPlan[];
  readonly settings: WorldSettings;
  readonly written: ConstructorParameters<typeof SimulatedTable>[2];
  readonly hostWitness: (host: string, hostInstanceId: string) => HostWitness;
  readonly log: Logger;
}

/** Everything outside of the platform, with the platform in it. */
export class World {
  readonly services: Services;
  readonly lambdas: Lambdas;
  readonly network: Network;
  readonly table: SimulatedTable;
  readonly tasks: SimulatedTasks;
  readonly bus: SimulatedBus;
  readonly blobs: SimulatedBlobs;
  readonly stream: SimulatedStream;
  readonly platform: Platform;
  readonly #options: WorldOptions;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { kernel, faults, settings } = options;
    this.services = new Services(kernel, faults);
    this.lambdas = new Lambdas(kernel, faults);
    this.network = new Network(kernel, faults, this.lambdas);
    this.stream = new SimulatedStream(kernel, faults, this.lambdas);
    this.bus = new SimulatedBus(this.services, faults);
    this.blobs = new SimulatedBlobs(this.services);
    const parts = { kernel, faults, services: this.services, lambdas: this.lambdas };
    this.table = new SimulatedTable(options.hall, parts, (records) => {
      options.written(records);
      this.stream.append(records);
    });
    this.tasks = new SimulatedTasks({
      ...parts,
      announce: (event) => this.#announce(event),
      startHost: (task, exited) =>
        startHost(
          {
            kernel,
            faults,
            network: this.network,
            plans: options.plans,
            retryForMs: settings.hostRetryForMs,
            witness: options.hostWitness,
          },
          task,
          exited,
        ),
    });
    const { queue } = this.#queues(parts);
    this.platform = openPlatform({
      table: this.table,
      queue,
      tasks: this.tasks,
      bus: this.bus,
      blobs: this.blobs,
      secrets: new SimulatedSecrets(this.services),
      failures: this.#nowhere(),
      timing: settings.timing,
      tenantRunLimit: settings.tenantRunLimit,
      log: options.log,
      ids: idsOf(options.seed),
    });
    this.#connect();
  }

  #queues(parts: ConstructorParameters<typeof SimulatedQueue>[0]): { queue: SimulatedQueue } {
    const { visibilityMs } = this.#options.settings;
    const dead = new SimulatedQueue(parts, {
      name: 'dead',
      visibilityMs,
      batchSize: 10,
      concurrency: 2,
      timeoutMs: timeoutOf('workers/fail-dead-run'),
      handler: (event, context) => this.platform.failDeadRun(event, context),
    });
    const queue = new SimulatedQueue(parts, {
      name: 'runs',
      visibilityMs,
      batchSize: 10,
      concurrency: 5,
      timeoutMs: timeoutOf('workers/dispatch-run'),
      handler: (event, context) => this.platform.dispatchRun(event, context),
      deadLetters: { queue: dead, maxReceives: RUNS_QUEUE_MAX_RECEIVES },
    });
    return { queue };
  }

  /** Reports of what a consumer gave up: nobody reads them here. */
  #nowhere(): CommandSender {
    return {
      send: () =>
        this.services.call({
          service: 'queue',
          what: 'SendMessage failures',
          refusal: () => new Error('refused'),
          effect: () => ({}),
        }),
    };
  }

  #connect(): void {
    const { platform } = this;
    const route = (name: string, method: string, path: string, handler: unknown) => ({
      name,
      method,
      path,
      timeoutMs: timeoutOf(name),
      handler: handler as never,
    });
    this.network.serve([
      route('api/create-run', 'POST', '/v1/runs', platform.createRun),
      route('api/get-run', 'GET', '/v1/runs/{runId}', platform.getRun),
      route('api/cancel-run', 'POST', '/v1/runs/{runId}/cancel', platform.cancelRun),
      route('gateway/claim-run', 'POST', '/host/v1/claim', platform.claimRun),
      route('gateway/append-events', 'POST', '/host/v1/runs/{runId}/events', platform.appendEvents),
      route('gateway/keep-blob', 'POST', '/host/v1/runs/{runId}/blobs', platform.keepBlob),
      route('gateway/renew-lease', 'POST', '/host/v1/runs/{runId}/heartbeat', platform.renewLease),
      route('gateway/report-result', 'POST', '/host/v1/runs/{runId}/result', platform.reportResult),
    ]);
    for (const entry of FUNCTIONS) {
      if (entry.trigger.kind !== 'tableStream') continue;
      this.stream.connect({
        name: entry.name,
        timeoutMs: entry.timeoutMs,
        batchSize: entry.trigger.batchSize,
        inserts: entry.trigger.inserts,
        handler: consumerOf(platform, entry.name),
      });
    }
  }

  /** An event source that tries a function three times in all. */
  #announce(event: object, tries = 3): void {
    const { kernel } = this.#options;
    this.lambdas.invoke(
      'settle-stopped-task',
      timeoutOf('workers/settle-stopped-task'),
      () => this.platform.settleStoppedTask(event),
      (invocation) => {
        if (invocation.outcome === 'returned' || tries <= 1) return;
        kernel.after(60_000, () => this.#announce(event, tries - 1));
      },
    );
  }

  /** The schedule of the sweeper, for ever. */
  startSweeping(): void {
    const { kernel, faults } = this.#options;
    let warm: ReturnType<Platform['openSweep']> | undefined;
    const invoke = () => {
      const handler = warm ?? this.platform.openSweep();
      warm = undefined;
      this.lambdas.invoke(
        'sweep-due-runs',
        timeoutOf('workers/sweep-due-runs'),
        () => handler(),
        (invocation) => {
          if (invocation.outcome === 'returned') warm = handler;
        },
      );
    };
    const tick = () => {
      kernel.after(60_000, tick);
      if (!faults.hits('sweep.skipped')) invoke();
      if (faults.hits('sweep.overlaps')) kernel.after(faults.random.between(0, 30_000), invoke);
    };
    kernel.after(faults.random.between(0, 60_000), tick);
  }
}

function consumerOf(platform: Platform, name: string): never {
  const consumers: Record<string, unknown> = {
    'workers/relay-outbox': platform.relayOutbox,
    'workers/fold-usage': platform.foldUsage,
  };
  const handler = consumers[name];
  if (!handler) throw new Error(`the simulation has no ${name}`);
  return handler as never;
}

function timeoutOf(name: string): number {
  const entry = FUNCTIONS.find((candidate) => candidate.name === name);
  if (!entry) throw new Error(`there is no function ${name}`);
  return entry.timeoutMs;
}

const ULID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function idsOf(seed: number) {
  const random = new Random(seed, 6);
  return {
    runId: () => {
      const digits = Array.from({ length: 25 }, () => random.pick([...ULID_DIGITS])).join('');
      return `run_0${digits}`;
    },
    traceId: () => Buffer.from(random.bytes(16)).toString('hex'),
  };
}
