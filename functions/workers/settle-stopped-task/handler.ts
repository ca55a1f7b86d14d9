import {
  type Logger,
  type SettleDeps,
  settleStoppedTask,
  taskStoppedEventSchema,
} from '#shared/orchestrator/index.ts';

/** Takes "ECS Task State Change" events of our cluster. Unordered and repeated delivery changes nothing. */
export function settleStoppedTaskHandler(deps: SettleDeps & { log: Logger }) {
  return async (event: unknown): Promise<void> => {
    const parsed = taskStoppedEventSchema.safeParse(event);
    if (!parsed.success) {
      deps.log.error({ issues: parsed.error.issues }, 'not a task event');
      return;
    }
    await settleStoppedTask(deps, parsed.data);
  };
}
