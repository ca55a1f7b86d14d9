import type { Actor, Kernel } from '../kernel/kernel.ts';
import type { FaultKind, Faults } from './faults.ts';

export type ServiceName = 'table' | 'queue' | 'tasks' | 'bus' | 'secrets' | 'blobs';

export interface ServiceCall<T> {
  readonly service: ServiceName;
  /** For people: `PutItem LOG#2`. */
  readonly what: string;
  /** Takes effect before it returns; what it promises waits for nothing. */
  readonly effect: () => T | Promise<T>;
  /** What the SDK throws when the service refuses for now, after its own repeats. */
  readonly refusal: () => Error;
}

/** Waits of a call, most of them short: there, at the service, and back. */
const USUAL_MS = 12;
const SLOW_MS = 8_000;

/**
 * Calls of the platform's actors to AWS services. Each is a place where anything may happen: the actor may die before
 * or after the effect, the effect may not come or come twice, the answer may be lost, others may act in between.
 */
export class Services {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  calls = 0;

  constructor(kernel: Kernel, faults: Faults) {
    this.#kernel = kernel;
    this.#faults = faults;
  }

  call<T>(call: ServiceCall<T>): Promise<T> {
    const kernel = this.#kernel;
    const { actor } = kernel;
    if (!actor) throw new Error(`${call.what} was called outside of any actor`);
    this.calls += 1;
    const fault = this.#pick(call.service);
    const label = `${actor.name} ${call.service}.${call.what}`;
    if (fault === 'crash_before') {
      // The call may be on its way already, or not; here it is not.
      kernel.note(`${label} → CRASH before`);
      kernel.after(0, () => kernel.crash(actor));
      return new Promise(() => undefined);
    }
    return new Promise<T>((resolve, reject) => {
      // What was sent arrives, even when its sender dies meanwhile.
      kernel.after(this.#latency(fault), async () => {
        const answer = await this.#answer(call, fault, label);
        this.#deliver(actor, answer, fault, { resolve, reject });
      });
    });
  }

  async #answer<T>(call: ServiceCall<T>, fault: Fault, label: string): Promise<Answer<T>> {
    const note = (line: string) => this.#kernel.note(line);
    if (fault === 'refused') {
      note(`${label} → REFUSED`);
      return { error: call.refusal() };
    }
    if (fault === 'lost_before') {
      note(`${label} → LOST before it took effect`);
      return { error: timeoutError() };
    }
    let answer = await attempt(call.effect);
    if (fault === 'repeated') answer = await attempt(call.effect);
    note(`${label} → ${describe(answer)}${fault ? ` [${fault}]` : ''}`);
    return fault === 'lost_after' ? { error: timeoutError() } : answer;
  }

  #deliver<T>(actor: Actor, answer: Answer<T>, fault: Fault, to: Settle<T>): void {
    const kernel = this.#kernel;
    if (fault === 'crash_after') {
      kernel.note(`${actor.name} CRASH after a call`);
      kernel.crash(actor);
      return;
    }
    if (fault === 'stall') return;
    kernel.afterFor(actor, this.#latency(fault), () => {
      if ('error' in answer) to.reject(answer.error);
      else to.resolve(answer.value);
    });
  }

  #pick(service: ServiceName): Fault {
    const faults = this.#faults;
    if (faults.over) return undefined;
    const kinds: readonly [FaultKind, Fault][] = [
      ['lambda.crash_before', 'crash_before'],
      ['lambda.crash_after', 'crash_after'],
      ['lambda.stall', 'stall'],
      [`${service}.refused` as FaultKind, 'refused'],
      [`${service}.lost_before` as FaultKind, 'lost_before'],
      [`${service}.lost_after` as FaultKind, 'lost_after'],
      [`${service}.repeated` as FaultKind, 'repeated'],
      [`${service}.slow` as FaultKind, 'slow'],
    ];
    for (const [kind, fault] of kinds) {
      if (faults.rates.has(kind) && faults.hits(kind)) return fault;
    }
    return undefined;
  }

  #latency(fault: Fault): number {
    const { random } = this.#faults;
    if (fault === 'slow') return SLOW_MS * random.unit() ** 2;
    // One in eight takes several times as long, so that who calls first is often not who is served first.
    return USUAL_MS * random.unit() * (random.chance(0.125) ? 10 : 1);
  }
}

type Fault =
  | 'crash_before'
  | 'crash_after'
  | 'stall'
  | 'refused'
  | 'lost_before'
  | 'lost_after'
  | 'repeated'
  | 'slow'
  | undefined;
type Answer<T> = { readonly value: T } | { readonly error: unknown };
interface Settle<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

async function attempt<T>(effect: () => T | Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await effect() };
  } catch (error) {
    return { error };
  }
}

function describe(answer: Answer<unknown>): string {
  if (!('error' in answer)) return 'ok';
  return answer.error instanceof Error ? answer.error.name : 'error';
}

/** As the SDK throws it when no answer came in time: the call may have taken effect. */
function timeoutError(): Error {
  return Object.assign(new Error('socket hang up'), {
    name: 'TimeoutError',
    $metadata: { attempts: 3 },
  });
}
