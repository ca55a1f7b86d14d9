import type { EngineRegistry } from '#shared/engines/index.ts';
import { type DeployedEngines, describeEngines, type Logger } from '#shared/orchestrator/index.ts';
import { httpFunction } from '../../kit/http-function.ts';

/** `GET /v1/engines`: every adapter, what it declares, what this deployment offers, and why not more. */
export function listEnginesHandler(deps: {
  registry: EngineRegistry;
  deployed: DeployedEngines;
  log: Logger;
}) {
  return httpFunction({
    log: deps.log,
    run: async () => ({
      status: 200,
      body: { engines: describeEngines(deps.registry, deps.deployed) },
    }),
  });
}
