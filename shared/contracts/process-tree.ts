import { z } from 'zod';
import { timestampSchema } from './identifiers.ts';

/** How a host found out that nothing of an engine is alive: by namespace, by user id, or by group and session. */
export const TREE_METHODS = ['bubblewrap', 'uid', 'process_group'] as const;

/** How somebody other than a host knows it: the task is stopped, the control plane knows no such task, none ever ran. */
export const TREE_EVIDENCE = ['task_stopped', 'task_missing', 'never_started'] as const;

/**
 * HST-2: how and when it was verified that no process of the run is left. A host says what it did; where no host
 * could, the platform says what it saw instead.
 */
export const processTreeSchema = z.discriminatedUnion('verifiedBy', [
  z.strictObject({
    verifiedBy: z.literal('host'),
    /** Null while processes resisted: `survivors` of them. */
    verifiedGoneAt: timestampSchema.nullable(),
    method: z.enum(TREE_METHODS),
    /** Signals sent, in order; none when the engine had ended and left nothing behind. */
    signals: z.array(z.enum(['SIGINT', 'SIGTERM', 'SIGKILL'])).max(3),
    /** Processes that were alive when SIGKILL was sent. */
    processesKilled: z.number().int().min(0),
    survivors: z.number().int().min(0),
  }),
  z.strictObject({
    verifiedBy: z.enum(TREE_EVIDENCE),
    verifiedGoneAt: timestampSchema,
  }),
]);
export type ProcessTree = z.infer<typeof processTreeSchema>;
