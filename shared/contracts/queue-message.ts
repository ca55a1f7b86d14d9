import { z } from 'zod';
import { runIdSchema, tenantIdSchema } from './identifiers.ts';

/** What travels in the runs queue: names only, so it can neither be too large nor out of date. */
export const launchMessageSchema = z.strictObject({
  schemaVersion: z.literal('1'),
  tenantId: tenantIdSchema,
  runId: runIdSchema,
});
export type LaunchMessage = z.infer<typeof launchMessageSchema>;
