export { openDiskSpool } from './disk-spool.ts';
export { GatewayClient } from './gateway-client.ts';
export { type HostOutcome, runHost } from './host.ts';
export { DEFAULT_HOST_LIMITS, type HostLimits } from './host-limits.ts';
export type { HostOptions } from './host-options.ts';
export { type RunEngineOptions, type RunningEngine, runEngine } from './run-engine.ts';
export type { Spool } from './spool.ts';
export type { EngineContext, EngineUse, StartEngine, StartedEngine } from './start-engine.ts';
export { type EngineHost, superviseEngines } from './supervise-engines.ts';
