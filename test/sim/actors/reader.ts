import { Writable } from 'node:stream';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { isFinalEventType } from '#shared/contracts/index.ts';
import type { Actor, Kernel } from '../kernel/kernel.ts';
import type { Faults } from '../world/faults.ts';
import type { Lambdas } from '../world/lambda.ts';
import { proxyEvent } from '../world/network.ts';
import type { Platform } from '../world/platform.ts';

export interface ReaderWorld {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly lambdas: Lambdas;
  readonly openStream: Platform['openStream'];
}

/** Everything one reader was sent, over all its connections. */
export interface Reading {
  readonly runId: string;
  readonly events: AgentEvent[];
  connections: number;
  complete: boolean;
}

const PATH = '/v1/runs/{runId}/stream';

/** Gives the functions what Lambda's runtime gives them: a response is the stream it is written to. */
export function installStreamingRuntime(): void {
  Object.assign(globalThis, {
    awslambda: {
      streamifyResponse: <T>(handler: T) => handler,
      HttpResponseStream: {
        from: (output: Writable, { statusCode }: { statusCode: number }) =>
          Object.assign(output, { statusCode }),
      },
    },
  });
}

/** Follows a run's stream to its end, and comes back by the last id whenever the connection ends. */
export function startReader(world: ReaderWorld, tenantId: string, runId: string): Reading {
  const reading: Reading = { runId, events: [], connections: 0, complete: false };
  const { kernel, faults, lambdas } = world;
  let lastId: string | undefined;
  const connect = () => {
    if (reading.complete) return;
    reading.connections += 1;
    const connection = new Connection(kernel, faults, (id, event) => {
      lastId = id;
      reading.events.push(event);
      if (isFinalEventType(event.eventType)) reading.complete = true;
    });
    const event = proxyEvent(
      {
        method: 'GET',
        path: `/v1/runs/${runId}/stream`,
        headers: lastId ? { 'last-event-id': lastId } : {},
        caller: { tenantId, subject: 'reader' },
      },
      { path: PATH },
      runId,
    );
    const actor = lambdas.invoke(
      'stream-run-events',
      faults.random.between(20_000, 90_000),
      (context) => {
        connection.serve(actor);
        return world.openStream()(event, connection, context);
      },
      () => connection.close(() => kernel.after(faults.random.between(50, 3_000), connect)),
    );
    if (faults.hits('reader.cut')) {
      kernel.after(faults.random.between(10, 20_000), () => connection.cut(actor));
    }
  };
  connect();
  return reading;
}

type OnEvent = (id: string, event: AgentEvent) => void;

/** From a function to a reader: bytes arrive late, in order, and after a cut not at all, or half. */
class Connection extends Writable {
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  readonly #onEvent: OnEvent;
  #server: Actor | undefined;
  #text = '';
  #arrivesAt = 0;
  #cut = false;

  constructor(kernel: Kernel, faults: Faults, onEvent: OnEvent) {
    super({ highWaterMark: 8 * 1024, emitClose: true });
    this.#kernel = kernel;
    this.#faults = faults;
    this.#onEvent = onEvent;
    this.on('error', () => undefined);
  }

  serve(server: Actor): void {
    this.#server = server;
  }

  override _write(chunk: Buffer, _encoding: string, taken: () => void): void {
    const { random } = this.#faults;
    const delay = 20 * random.unit() + (random.chance(0.05) ? 3_000 * random.unit() : 0);
    // Bytes of one connection do not overtake each other.
    this.#arrivesAt = Math.max(this.#arrivesAt, this.#kernel.now + delay);
    const bytes = Buffer.from(chunk);
    this.#kernel.after(this.#arrivesAt - this.#kernel.now, () => {
      if (!this.#cut) this.#take(bytes);
      if (this.#server) this.#kernel.afterFor(this.#server, 0, taken);
    });
  }

  /** All that was written has arrived. */
  close(closed: () => void): void {
    this.#kernel.after(Math.max(0, this.#arrivesAt - this.#kernel.now) + 1, closed);
  }

  cut(server: Actor): void {
    this.#cut = true;
    this.#kernel.afterFor(server, 0, () => this.destroy());
  }

  #take(bytes: Buffer): void {
    this.#text += bytes.toString('utf8');
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end === -1) return;
      const frame = this.#text.slice(0, end);
      this.#text = this.#text.slice(end + 2);
      const id = /^id: (.*)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (id && data) this.#onEvent(id, JSON.parse(data));
    }
  }
}
