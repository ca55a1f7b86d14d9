export {
  type CounterShard,
  globalShards,
  type RunLimits,
  runLimitsSchema,
  tenantShards,
} from './run-limits.ts';
export { turnOf, type Waiter, type WaitList } from './wait-list.ts';
