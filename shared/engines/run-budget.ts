import { type Budget, PlatformError, type Usage } from '#shared/contracts/index.ts';

/** The budget that is used up, if one is. Counts that are unknown use up nothing. */
export function budgetOverrun(budget: Budget, used: Usage): PlatformError | undefined {
  const { toolCalls, totalTokens } = budget;
  if (toolCalls !== undefined && (used.toolCalls ?? 0) > toolCalls) {
    return overrun('toolCalls', toolCalls, used.toolCalls ?? 0);
  }
  const tokens = (used.inputTokens ?? 0) + (used.outputTokens ?? 0);
  if (totalTokens !== undefined && tokens > totalTokens) {
    return overrun('totalTokens', totalTokens, tokens);
  }
  return undefined;
}

function overrun(name: keyof Budget, limit: number, used: number): PlatformError {
  return new PlatformError(
    'budget_exhausted',
    `the run used up its budget of ${name}: ${used} of ${limit}`,
    { details: { budget: name, limit, used } },
  );
}
