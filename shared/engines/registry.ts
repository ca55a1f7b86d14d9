import { type EngineTriple, PlatformError, tripleName } from '#shared/contracts/index.ts';
import type {
  AdapterDescriptor,
  EngineDefinition,
  ProtocolDefinition,
} from './engine-descriptor.ts';

/** A named collection that refuses duplicates when it is filled and lists what exists when a name is unknown. */
export class Registry<T> {
  readonly #kind: string;
  readonly #entries = new Map<string, T>();

  constructor(kind: string) {
    this.#kind = kind;
  }

  register(name: string, entry: T): this {
    if (this.#entries.has(name)) throw new TypeError(`${this.#kind} "${name}" is registered twice`);
    this.#entries.set(name, entry);
    return this;
  }

  find(name: string): T | undefined {
    return this.#entries.get(name);
  }

  /** @throws PlatformError `unknown_engine`, listing the known names */
  get(name: string): T {
    const entry = this.#entries.get(name);
    if (entry === undefined) {
      throw new PlatformError('unknown_engine', `there is no ${this.#kind} "${name}"`, {
        field: 'engine',
        remedy: `use one of: ${this.names().join(', ') || '(none registered)'}`,
        details: { available: this.names() },
      });
    }
    return entry;
  }

  names(): string[] {
    return [...this.#entries.keys()].sort();
  }

  all(): T[] {
    return [...this.#entries.values()];
  }
}

/** REG-1: three registries, each filled on its own; an adapter is found by its triple. */
export class EngineRegistry {
  readonly engines = new Registry<EngineDefinition>('engine');
  readonly protocols = new Registry<ProtocolDefinition>('protocol');
  readonly adapters = new Registry<AdapterDescriptor>('adapter');

  registerEngine(engine: EngineDefinition): this {
    this.engines.register(engine.engineId, engine);
    return this;
  }

  registerProtocol(protocol: ProtocolDefinition): this {
    this.protocols.register(protocol.protocolId, protocol);
    return this;
  }

  /** The adapter's engine and protocol must be registered before it. */
  registerAdapter(adapter: AdapterDescriptor): this {
    this.engines.get(adapter.triple.engineId);
    this.protocols.get(adapter.triple.protocolId);
    this.adapters.register(tripleName(adapter.triple), adapter);
    return this;
  }

  /**
   * Finds the adapter for what a client asked for: the protocol left out is the engine's default, the version
   * left out the newest one that is active.
   *
   * @throws PlatformError `unknown_engine`, listing what exists
   */
  resolve(wanted: {
    engineId: string;
    protocolId?: string | undefined;
    adapterVersion?: string | undefined;
  }): AdapterDescriptor {
    const engine = this.engines.get(wanted.engineId);
    const protocolId = wanted.protocolId ?? engine.defaultProtocolId;
    this.protocols.get(protocolId);
    const version = wanted.adapterVersion ?? this.#newestVersion(engine.engineId, protocolId);
    const triple: EngineTriple = {
      engineId: engine.engineId,
      protocolId,
      adapterVersion: version ?? 'v1',
    };
    return this.adapters.get(tripleName(triple));
  }

  #newestVersion(engineId: string, protocolId: string): string | undefined {
    return this.adapters
      .all()
      .filter(
        ({ triple, status }) =>
          triple.engineId === engineId && triple.protocolId === protocolId && status === 'active',
      )
      .map(({ triple }) => triple.adapterVersion)
      .sort((a, b) => Number(b.slice(1)) - Number(a.slice(1)))[0];
  }
}
