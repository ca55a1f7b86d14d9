import type { ApiRoute } from '#local/api-front/index.ts';
import { FUNCTIONS } from '#shared/topology/index.ts';
import { type Functions, functionOf } from './functions.ts';

/** Both APIs of the catalogue on one port: in the cloud the host gateway is a private API of its own. */
export function apiRoutes(functions: Functions): ApiRoute[] {
  return FUNCTIONS.flatMap(({ name, trigger }) => {
    if (trigger.kind !== 'http') return [];
    return [
      {
        method: trigger.method,
        path: trigger.path,
        invoke: functionOf(functions, name),
        streaming: trigger.streaming ?? false,
        ...(trigger.auth === 'user' ? { auth: 'user' } : {}),
      },
    ];
  });
}
