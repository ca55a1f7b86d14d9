import { z } from 'zod';

const ms = z.number().int().min(1);

/** How long things may take before somebody looks. All in milliseconds. */
export const timingSchema = z.strictObject({
  /** From the claim until a host must have reported: covers image pull and start of a task. */
  launchLeaseMs: ms.default(300_000),
  /** Without a heartbeat for this long a host is checked. */
  leaseMs: ms.default(45_000),
  heartbeatEveryMs: ms.default(15_000),
  /** A run still queued after this gets its message again; then each time it has waited as long again, */
  queuedCheckMs: ms.default(60_000),
  /** but at least this often: thousands of runs that wait must not keep the sweeper from the live ones. */
  queuedCheckMaxMs: ms.default(300_000),
  /** A run still cancelling after this has its task looked at again. */
  cancelCheckMs: ms.default(30_000),
  /** The sweeper looks this often: a lost host is noticed within a lease and one look. */
  sweepEveryMs: ms.default(12_000),
  /** So long one invocation of the sweeper goes on looking: until its schedule starts the next one. */
  sweepForMs: ms.default(60_000),
  /**
   * A task whose host says nothing for this long after its lease is stopped: it hangs. A host that is only cut off goes
   * on with its work, and an outage of the gateway must not end it, so this is longer than those.
   */
  silentStopMs: ms.default(900_000),
  /** The tasks of the cluster are held against the ledger this often. */
  orphanCheckMs: ms.default(60_000),
  /** A task is left alone for this long after its run ended: its host is putting things away. */
  orphanGraceMs: ms.default(60_000),
  /** Hosts enforce the deadline themselves; the platform steps in this much later. */
  deadlineGraceMs: ms.default(60_000),
  /** First wait before another attempt; doubles each time. */
  requeueBaseMs: ms.default(2_000),
  /** The longest wait of a run for which the control plane has no room, between two tries. */
  roomWaitMs: ms.default(60_000),
  /** The quota counters are held against the runs this often. */
  quotaCheckMs: ms.default(30 * 60_000),
  /** A run for which the whole platform has no slot is looked at again after this. */
  quotaWaitMs: ms.default(5_000),
});
export type Timing = z.infer<typeof timingSchema>;

/** Version of the built-in policy, recorded on each attempt. */
export const POLICY_VERSION = 'builtin-1';

/** An engine that this deployment has, in which version, and with what defaults for its section. */
export const deployedEnginesSchema = z.array(
  z.strictObject({
    engineId: z.string(),
    version: z.string(),
    defaultConfig: z.record(z.string(), z.json()).optional(),
  }),
);
export type DeployedEngines = z.infer<typeof deployedEnginesSchema>;
