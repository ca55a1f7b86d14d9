import { ERROR_CLASSES, launchMessageSchema, PlatformError } from '#shared/contracts/index.ts';
import { type DispatchDeps, dispatchRun, settleRun } from '#shared/orchestrator/index.ts';
import { queueFunction } from '../../kit/queue-function.ts';

/** The orchestrator: one message, one claim, one task. It knows nothing of engines. */
export function dispatchRunHandler(open: () => Promise<DispatchDeps>, log: DispatchDeps['log']) {
  return queueFunction({
    log,
    message: launchMessageSchema,
    malformed: 'fail',
    run: async (message) => {
      const deps = await open();
      try {
        const outcome = await dispatchRun(deps, message);
        log.info({ runId: message.runId, outcome }, 'launch message handled');
      } catch (error) {
        if (!isPermanent(error)) throw error;
        // No repeat can mend it (an adapter that is gone): the run ends now, with the reason.
        await settleRun(deps, message, {
          kind: 'poison_message',
          reason: error.message,
          error: error.record,
        });
      }
    },
  });
}

function isPermanent(error: unknown): error is PlatformError {
  return error instanceof PlatformError && ERROR_CLASSES[error.record.class].retry === 'never';
}
