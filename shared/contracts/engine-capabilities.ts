import { z } from 'zod';

/** CAP-1: what an engine can do, what a deployment offers, what a run may use: the same eleven flags. */
export const CAPABILITIES = [
  'streaming',
  'persistent_session',
  'session_resume',
  'cancellation',
  'human_approval',
  'interactive_input',
  'tool_calling',
  'file_operations',
  'terminal_execution',
  'native_events',
  'workspace_required',
] as const;
export const capabilitySchema = z.enum(CAPABILITIES);
export type Capability = (typeof CAPABILITIES)[number];

export const engineCapabilitiesSchema = z.strictObject(
  Object.fromEntries(CAPABILITIES.map((name) => [name, z.boolean()])) as Record<
    Capability,
    z.ZodBoolean
  >,
);
export type EngineCapabilities = z.infer<typeof engineCapabilitiesSchema>;

/** Why a flag of a wider layer is not in a narrower one. */
export const capabilityRefusalSchema = z.strictObject({
  capability: capabilitySchema,
  layer: z.enum(['available', 'effective']),
  rule: z.string().max(100),
  reason: z.string().max(500),
});
export type CapabilityRefusal = z.infer<typeof capabilityRefusalSchema>;

/** The three layers of one run, with a reason for each flag that was lost on the way. */
export const capabilityLayersSchema = z.strictObject({
  declared: engineCapabilitiesSchema,
  available: engineCapabilitiesSchema,
  effective: engineCapabilitiesSchema,
  refusals: z.array(capabilityRefusalSchema),
});
export type CapabilityLayers = z.infer<typeof capabilityLayersSchema>;

/** All flags off but those named. */
export function capabilities(...on: readonly Capability[]): EngineCapabilities {
  return Object.fromEntries(
    CAPABILITIES.map((name) => [name, on.includes(name)]),
  ) as EngineCapabilities;
}
