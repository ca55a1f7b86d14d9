import { GatewayClient, runHost, type Spool } from '#shared/runtime/index.ts';
import { TASK_ENVIRONMENT } from '#shared/topology/index.ts';
import type { Actor, Kernel } from '../kernel/kernel.ts';
import type { Faults } from '../world/faults.ts';
import type { Network } from '../world/network.ts';
import type { HostProcess, SimulatedTask } from '../world/task-record.ts';
import { planOf, type RunPlan, scriptOf } from './run-plan.ts';
import type { EngineWitness } from './scripted-engine.ts';
import { scriptedEngines } from './scripted-engine.ts';

/** As the program in the task exits. */
const EXIT_CODES = { reported: 0, authority_lost: 3, unreachable: 4 } as const;
const KILLED = 137;
const SPOOL_BYTES = 1024 * 1024;
/** Nobody sets the clock of a task. */
const HOST_SKEW_FACTOR = 2;

export interface HostWorld {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly network: Network;
  readonly plans: readonly RunPlan[];
  /** How long a host goes on trying to reach its gateway. */
  readonly retryForMs: number;
  readonly witness: (hostName: string, hostInstanceId: string) => HostWitness;
}

export interface HostWitness extends EngineWitness {
  /** The ticket names the attempt. */
  begins(runId: string, epoch: number): void;
  acknowledged(runId: string, epoch: number, through: number): void;
  reported(runId: string, epoch: number, outcome: string, status: string): void;
  exited(): void;
  died(): void;
  fault(error: unknown): void;
}

/** The real host of a task, over the simulated network. */
export function startHost(
  world: HostWorld,
  task: SimulatedTask,
  exited: (code: number) => void,
): HostProcess {
  const { kernel, faults, network } = world;
  const actor = kernel.newActor('host', { skewMs: faults.skewMs() * HOST_SKEW_FACTOR });
  const hostInstanceId = actor.name.replace('#', '-0000000');
  const witness = world.witness(actor.name, hostInstanceId);
  const ticket = task.environment[TASK_ENVIRONMENT.ticket] ?? '';
  witness.begins(...attemptOf(ticket));
  actor.atDeath.push(() => {
    witness.died();
    exited(KILLED);
  });
  const taskStopping = new AbortController();
  const gateway = new GatewayClient({
    baseUrl: task.environment[TASK_ENVIRONMENT.gatewayUrl] ?? '',
    clock: { now: () => Date.now() },
    retryForMs: world.retryForMs,
    fetch: fetchOf(world, actor, network, witness),
  });
  kernel.start(
    actor,
    () =>
      runHost({
        gateway,
        ticket,
        hostInstanceId,
        hostVersion: '0.0.0',
        sandbox: 'simulated',
        startEngine: scriptedEngines(
          actor.name,
          (claim) =>
            scriptOf(planOf(world.plans, claim.request.input.prompt), claim.request.attempt),
          witness,
        ),
        spool: { store: memorySpool(), bytes: SPOOL_BYTES },
        hostRssBytes: () => 50 * 1024 ** 2,
        clock: { now: () => Date.now() },
        onFault: (error) => {
          // An outage is the world's fault; a refusal of what the host sent is not.
          if (!(error instanceof Error && error.name === 'GatewayUnreachable'))
            witness.fault(error);
        },
        taskStopping: taskStopping.signal,
      }),
    (ending) => {
      if ('error' in ending) {
        kernel.fault(ending.error);
        return;
      }
      const { outcome } = ending.value;
      kernel.note(`${actor.name} EXITS: ${outcome}`);
      witness.exited();
      exited(EXIT_CODES[outcome]);
    },
  );
  return {
    terminate: () => kernel.afterFor(actor, 0, () => taskStopping.abort()),
    kill: () => kernel.crash(actor),
  };
}

/** Tickets and execution tokens say whom they are for, signed and readable. */
function attemptOf(token: string): [runId: string, epoch: number] {
  const [body = ''] = token.split('.');
  const [, runId, epoch] = JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
  return [runId, epoch];
}

function fetchOf(
  world: HostWorld,
  actor: Actor,
  network: Network,
  witness: HostWitness,
): typeof fetch {
  const ask = async (url: string, init: RequestInit = {}) => {
    if (world.faults.hits('task.dies_at_call')) {
      const { kernel, faults } = world;
      kernel.note(`${actor.name} KILLED at a call`);
      kernel.after(faults.random.chance(0.5) ? 0 : faults.random.between(0, 200), () =>
        kernel.crash(actor),
      );
    }
    const reply = await network.ask({
      method: 'POST',
      path: new URL(url).pathname,
      headers: init.headers as Record<string, string>,
      body: init.body as string,
      signal: init.signal ?? undefined,
    });
    if (reply.status === 200) tell(witness, init, reply.body);
    return {
      ok: reply.status >= 200 && reply.status < 300,
      status: reply.status,
      text: async () => reply.body,
    };
  };
  return ask as unknown as typeof fetch;
}

/** What the platform promised with this answer. */
function tell(witness: HostWitness, init: RequestInit, body: string): void {
  const { authorization = '' } = init.headers as Record<string, string>;
  const [runId, epoch] = attemptOf(authorization.replace('Bearer ', ''));
  const reply = JSON.parse(body) as { storedThrough?: number; outcome?: string; status?: string };
  if (reply.storedThrough !== undefined) witness.acknowledged(runId, epoch, reply.storedThrough);
  if (reply.outcome) witness.reported(runId, epoch, reply.outcome, reply.status ?? '');
}

function memorySpool(): Spool {
  const files = new Map<string, string>();
  return {
    write: async (name, text) => void files.set(name, text),
    read: async (name) => {
      const text = files.get(name);
      if (text === undefined) throw new Error(`${name} is not in the spool`);
      return text;
    },
    remove: async (name) => void files.delete(name),
    discard: async () => files.clear(),
  };
}
