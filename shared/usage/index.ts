export { reportUsage, type UsageQuery } from './report-usage.ts';
export type { UsageFact } from './usage-fact.ts';
export type { AgentDay, UsageStore } from './usage-store.ts';
export { sumOf, tallyOf, totalsOf, type UsageTally } from './usage-tally.ts';
