import pino from 'pino';
import type { Logger } from '#shared/orchestrator/index.ts';

/**
 * JSON lines on stdout, one logger per function; into `LOG_FILE` where stdout belongs to people. Objects are logged by
 * named fields, never whole requests (B130).
 */
export function openLogger(name: string): Logger {
  return pino(
    {
      name,
      level: process.env.LOG_LEVEL ?? 'info',
      base: {},
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    pino.destination(process.env.LOG_FILE ?? 1),
  );
}
