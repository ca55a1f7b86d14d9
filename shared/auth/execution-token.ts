import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { PlatformError, runIdSchema, tenantIdSchema } from '#shared/contracts/index.ts';

/** What a ticket or an execution token speaks for: one attempt of one run, until `expiresAtMs`. */
export interface ExecutionScope {
  readonly tenantId: string;
  readonly runId: string;
  readonly epoch: number;
  readonly expiresAtMs: number;
}

/** A place in the log that only the gateway can name. */
export interface SignedPosition {
  readonly runId: string;
  readonly epoch: number;
  readonly nextIndex: number;
  readonly nextSequence: number;
  /** Carried along, so that an append need not read the head. */
  readonly traceId: string;
}

const scopeSchema = z.tuple([tenantIdSchema, runIdSchema, z.number().int(), z.number().int()]);
const positionSchema = z.tuple([
  runIdSchema,
  z.number(),
  z.number().int(),
  z.number().int(),
  z.string(),
]);

/**
 * Tokens between orchestrator, gateway and host, signed with the environment's own secret. They are deterministic:
 * the same attempt always gets the same ticket, so a launch that is repeated after a crash asks for the same thing
 * (the task's client token would refuse other parameters). A purpose is signed in, so none passes for another.
 */
export function createExecutionTokens(secret: string, now: () => number) {
  const signature = (purpose: string, body: string) =>
    createHmac('sha256', secret).update(`${purpose}\0${body}`).digest('base64url');

  const sign = (purpose: string, content: unknown): string => {
    const body = Buffer.from(JSON.stringify(content)).toString('base64url');
    return `${body}.${signature(purpose, body)}`;
  };

  const open = <T>(purpose: string, token: string, schema: z.ZodType<T>): T | undefined => {
    const [body, given, ...rest] = token.split('.');
    if (!body || !given || rest.length > 0) return undefined;
    const expected = Buffer.from(signature(purpose, body));
    const received = Buffer.from(given);
    if (expected.length !== received.length || !timingSafeEqual(expected, received))
      return undefined;
    return schema.parse(JSON.parse(Buffer.from(body, 'base64url').toString('utf8')));
  };

  const signScope = (purpose: string, scope: ExecutionScope) =>
    sign(purpose, [scope.tenantId, scope.runId, scope.epoch, scope.expiresAtMs]);

  const openScope = (purpose: string, token: string): ExecutionScope => {
    const opened = open(purpose, token, scopeSchema);
    if (!opened) throw new PlatformError('unauthenticated', 'this token was not issued here');
    const [tenantId, runId, epoch, expiresAtMs] = opened;
    if (expiresAtMs <= now()) throw new PlatformError('unauthenticated', 'this token has expired');
    return { tenantId, runId, epoch, expiresAtMs };
  };

  return {
    /** Goes into the task's environment; dead once a host has claimed the run with it. */
    signTicket: (scope: ExecutionScope) => signScope('ticket', scope),
    /** @throws PlatformError `unauthenticated` */
    verifyTicket: (token: string) => openScope('ticket', token),
    /** Given to the host at its claim, for every later call. */
    signExecutionToken: (scope: ExecutionScope) => signScope('execution', scope),
    /** @throws PlatformError `unauthenticated` */
    verifyExecutionToken: (token: string) => openScope('execution', token),
    signPosition: (position: SignedPosition) =>
      sign('position', [
        position.runId,
        position.epoch,
        position.nextIndex,
        position.nextSequence,
        position.traceId,
      ]),
    /** @throws PlatformError `invalid_cursor` */
    verifyPosition: (cursor: string): SignedPosition => {
      const opened = open('position', cursor, positionSchema);
      if (!opened) {
        throw new PlatformError('invalid_cursor', 'this cursor was not issued here', {
          field: 'cursor',
        });
      }
      const [runId, epoch, nextIndex, nextSequence, traceId] = opened;
      return { runId, epoch, nextIndex, nextSequence, traceId };
    },
  };
}
export type ExecutionTokens = ReturnType<typeof createExecutionTokens>;
