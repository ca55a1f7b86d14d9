import type {
  EventBatch,
  ExecutionResult,
  ResultReply,
  ResultRequest,
} from '#shared/contracts/index.ts';
import { GatewayRefused, GatewayUnreachable } from './gateway-client.ts';

export interface ResultDelivery {
  readonly cursor: string;
  readonly batch: EventBatch;
  readonly result: ExecutionResult;
  readonly send: (body: ResultRequest, retryForMs: number) => Promise<ResultReply>;
  /** The gateway answers other calls. */
  readonly isReachable: () => boolean;
  readonly onFault: (error: unknown) => void;
}

const RETRY_MS = 60_000;

/**
 * Reports how the engine ended, for as long as it takes. The outcome matters more than the last events, and these more
 * than what the engine says beside its outcome: what the gateway does not take is left out, in this order.
 *
 * @throws GatewayRefused when it takes not even the bare outcome; AuthorityLost; the reason of the caller's signal
 */
export async function deliverResult(delivery: ResultDelivery): Promise<ResultReply> {
  const { cursor, batch, result } = delivery;
  const none = { firstProducerSequence: batch.firstProducerSequence, events: [] };
  const bodies: ResultRequest[] = [
    ...(batch.events.length > 0 ? [{ cursor, batch, result }] : []),
    { cursor, batch: none, result },
    { cursor, batch: none, result: { ...result, output: null, artifacts: [], metadata: {} } },
  ];
  for (const [index, body] of bodies.entries()) {
    const reply = await deliver(delivery, body, index === bodies.length - 1);
    if (reply) return reply;
  }
  throw new TypeError('the last body is delivered or thrown');
}

/** Undefined when less should be tried. */
async function deliver(
  { send, isReachable, onFault }: ResultDelivery,
  body: ResultRequest,
  isLast: boolean,
): Promise<ResultReply | undefined> {
  for (;;) {
    try {
      return await send(body, RETRY_MS);
    } catch (error) {
      const unreachable = error instanceof GatewayUnreachable;
      if (!unreachable && !(error instanceof GatewayRefused)) throw error;
      if (!unreachable && isLast) throw error;
      // In an outage less would not arrive either.
      if (unreachable && (isLast || !isReachable())) continue;
      onFault(error);
      return undefined;
    }
  }
}
