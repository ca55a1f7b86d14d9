import {
  CAPABILITIES,
  type Capability,
  type CapabilityLayers,
  type CapabilityRefusal,
  type EngineCapabilities,
} from '#shared/contracts/index.ts';

/** Why an adapter cannot be used in this deployment at all; undefined when it can. */
export type Unavailability = { readonly rule: string; readonly reason: string } | undefined;

/** One rule of one level that takes capabilities away. Levels can only shrink what is left. */
export interface Denial {
  readonly rule: string;
  readonly reason: string;
  readonly capabilities: readonly Capability[];
}

/**
 * CAP-1, CAP-2: Declared (adapter) → Available (this deployment) → Effective (policy). Pure; each flag that is lost
 * keeps the first rule that took it. `deployment` names what the platform itself does not offer yet.
 */
export function resolveCapabilities(input: {
  declared: EngineCapabilities;
  unavailable: Unavailability;
  deployment: readonly Denial[];
  policy: readonly Denial[];
}): CapabilityLayers {
  const refusals: CapabilityRefusal[] = [];
  const everything: Denial[] = input.unavailable
    ? [{ ...input.unavailable, capabilities: CAPABILITIES }]
    : [];
  const available = shrink(
    input.declared,
    'available',
    [...everything, ...input.deployment],
    refusals,
  );
  const effective = shrink(available, 'effective', input.policy, refusals);
  return { declared: input.declared, available, effective, refusals };
}

function shrink(
  from: EngineCapabilities,
  layer: CapabilityRefusal['layer'],
  denials: readonly Denial[],
  refusals: CapabilityRefusal[],
): EngineCapabilities {
  const left = { ...from };
  for (const capability of CAPABILITIES) {
    if (!left[capability]) continue;
    const denial = denials.find(({ capabilities }) => capabilities.includes(capability));
    if (!denial) continue;
    left[capability] = false;
    refusals.push({ capability, layer, rule: denial.rule, reason: denial.reason });
  }
  return left;
}
