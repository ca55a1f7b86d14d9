export { GatewayClient } from './gateway-client.ts';
export { type HostOptions, type HostOutcome, runHost } from './host.ts';
export { DEFAULT_HOST_LIMITS, type HostLimits } from './host-limits.ts';
export { type RunEngineOptions, type RunningEngine, runEngine } from './run-engine.ts';
export type { EngineContext, StartEngine, StartedEngine } from './start-engine.ts';
export { type EngineHost, superviseEngines } from './supervise-engines.ts';
