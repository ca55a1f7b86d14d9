import type { z } from 'zod';
import type { Capability, EngineCapabilities, EngineTriple } from '#shared/contracts/index.ts';

/** An agent program, whatever way it is spoken to. */
export interface EngineDefinition {
  readonly engineId: string;
  readonly displayName: string;
  readonly defaultProtocolId: string;
  /** What a deployment must have of it: `program` is installed from `containers/<folder>`, `builtin` is always there. */
  readonly program:
    | { readonly kind: 'installed'; readonly folder: string }
    | { readonly kind: 'builtin' };
}

/** A way of speaking to an engine; several engines may share one. */
export interface ProtocolDefinition {
  readonly protocolId: string;
  readonly description: string;
}

/**
 * Everything about one (engine, protocol, version) that is data: Lambdas, documentation and the host read it.
 * It imports nothing that could start an engine.
 */
export interface AdapterDescriptor {
  readonly triple: EngineTriple;
  readonly status: 'active' | 'deprecated' | 'disabled';
  readonly declared: EngineCapabilities;
  /** Capabilities without which a run of this adapter makes no sense; refused before it is accepted. */
  readonly required: readonly Capability[];
  /** Semver range of the engine's program that this adapter was tested with. */
  readonly supportedVersions: string;
  /** Strict schema of `config`; its output (defaults filled in) is what the adapter gets. */
  readonly configSchema: z.ZodType;
  /** Names of the tenant's credentials that a run with this (parsed) config needs. */
  readonly credentialNames: (config: unknown) => readonly string[];
}
