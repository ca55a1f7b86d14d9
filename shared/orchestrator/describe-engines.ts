import { satisfies } from 'semver';
import { z } from 'zod';
import {
  type Denial,
  resolveCapabilities,
  type Unavailability,
} from '#shared/capabilities/index.ts';
import {
  type Capability,
  type CapabilityLayers,
  type EngineView,
  tripleName,
} from '#shared/contracts/index.ts';
import type { AdapterDescriptor, EngineRegistry } from '#shared/engines/index.ts';
import type { DeployedEngines } from './settings.ts';

/** What an engine may be able to do and this platform does not offer to it yet. */
const NOT_OFFERED: Denial = {
  rule: 'platform.not_offered',
  reason: 'the platform does not offer this yet',
  capabilities: [
    'persistent_session',
    'session_resume',
    'human_approval',
    'interactive_input',
    'workspace_required',
  ],
};

/** Why an adapter cannot be used in this deployment; undefined when it can. */
export function unavailability(
  registry: EngineRegistry,
  descriptor: AdapterDescriptor,
  deployed: DeployedEngines,
): Unavailability {
  const { engineId } = descriptor.triple;
  if (descriptor.status === 'disabled') {
    return { rule: 'adapter.disabled', reason: `${tripleName(descriptor.triple)} is disabled` };
  }
  if (registry.engines.get(engineId).program.kind === 'builtin') return undefined;
  const here = deployed.find((engine) => engine.engineId === engineId);
  if (!here)
    return {
      rule: 'engine.not_installed',
      reason: `${engineId} is not installed in this deployment`,
    };
  if (!satisfies(here.version, descriptor.supportedVersions)) {
    return {
      rule: 'engine.version_unsupported',
      reason: `${engineId} ${here.version} is installed; ${tripleName(descriptor.triple)} supports ${descriptor.supportedVersions}`,
    };
  }
  return undefined;
}

/** CAP-1 for one run: what the client itself gave up is the narrowest level. */
export function resolveRunCapabilities(
  registry: EngineRegistry,
  descriptor: AdapterDescriptor,
  deployed: DeployedEngines,
  denied: readonly string[],
): CapabilityLayers {
  return resolveCapabilities({
    declared: descriptor.declared,
    unavailable: unavailability(registry, descriptor, deployed),
    deployment: [NOT_OFFERED],
    policy: [
      {
        rule: 'run.denied',
        reason: 'the run asked to go without it',
        capabilities: denied as Capability[],
      },
    ],
  });
}

/** REG-1: the matrix of what exists and whether it can be used here. */
export function describeEngines(registry: EngineRegistry, deployed: DeployedEngines): EngineView[] {
  return registry.adapters.all().map((descriptor) => {
    const engine = registry.engines.get(descriptor.triple.engineId);
    const layers = resolveRunCapabilities(registry, descriptor, deployed, []);
    const why = unavailability(registry, descriptor, deployed);
    return {
      engine: descriptor.triple,
      displayName: engine.displayName,
      status: descriptor.status,
      isDefaultProtocol: engine.defaultProtocolId === descriptor.triple.protocolId,
      availability: why ? 'unavailable' : 'available',
      reasons: why ? [why.reason] : [],
      supportedVersions: descriptor.supportedVersions,
      declared: layers.declared,
      available: layers.available,
      configSchema: z.toJSONSchema(descriptor.configSchema, {
        io: 'input',
        unrepresentable: 'any',
      }) as EngineView['configSchema'],
    };
  });
}
