import { launchMessageSchema } from '#shared/contracts/index.ts';
import { type Logger, type SettleDeps, settleRun } from '#shared/orchestrator/index.ts';
import { queueFunction } from '../../kit/queue-function.ts';

/** The last stop of a launch message: its run ends failed and visible, never queued for ever (B56). */
export function failDeadRunHandler(deps: SettleDeps & { log: Logger }) {
  return queueFunction({
    log: deps.log,
    message: launchMessageSchema,
    malformed: 'drop',
    run: async (message, record) => {
      const settled = await settleRun(deps, message, {
        kind: 'poison_message',
        reason: `message ${record.messageId} was set aside`,
      });
      deps.log.error(
        { runId: message.runId, outcome: settled.outcome },
        'launch message was dead-lettered',
      );
    },
  });
}
