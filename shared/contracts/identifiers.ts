import { z } from 'zod';

/**
 * Identifiers are visible in URLs, keys and logs. They are names, never capabilities: knowing one opens nothing,
 * because the tenant always comes from a verified token.
 */
const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * Letters, digits, `_`, `-`; 1 to 64 characters: what `startedBy` of a task can carry. `#` is the key separator of the
 * table and never allowed.
 */
export const tenantIdSchema = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, {
  error: 'must be 1 to 64 letters, digits, "_" or "-", starting with a letter or digit',
});
export type TenantId = z.infer<typeof tenantIdSchema>;

/** `run_` and a ULID: sorts by creation time. */
export const runIdSchema = z.string().regex(/^run_[0-9A-HJKMNP-TV-Z]{26}$/, {
  error: 'must be "run_" followed by a ULID',
});
export type RunId = z.infer<typeof runIdSchema>;

export const agentIdSchema = z.string().regex(IDENTIFIER);
export const conversationIdSchema = z.string().regex(IDENTIFIER);
export const sessionIdSchema = z.string().regex(IDENTIFIER);
export const workspaceIdSchema = z.string().regex(IDENTIFIER);
/** Name of a credential in the tenant's vault. */
export const credentialNameSchema = z.string().regex(IDENTIFIER);

/** `2026-11-30T12:00:00.000Z`. */
export const timestampSchema = z.iso.datetime({ precision: 3 });

/** Engine, protocol and adapter names: lower snake case; versions `v1`, `v2`. */
export const engineIdSchema = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/);
export const protocolIdSchema = z.string().regex(/^[a-z][a-z0-9_]{0,31}$/);
export const adapterVersionSchema = z.string().regex(/^v[1-9][0-9]{0,3}$/);

export const engineTripleSchema = z.strictObject({
  engineId: engineIdSchema,
  protocolId: protocolIdSchema,
  adapterVersion: adapterVersionSchema,
});
/** What names an adapter: the agent program, how it is spoken to, and our version of that. */
export type EngineTriple = z.infer<typeof engineTripleSchema>;

/** `engine/protocol/version`, for logs, messages and registries. */
export function tripleName(triple: EngineTriple): string {
  return `${triple.engineId}/${triple.protocolId}/${triple.adapterVersion}`;
}
