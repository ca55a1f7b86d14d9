import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { AgentEvent } from '#shared/contracts/index.ts';
import { fromPageItem } from './dynamo-run-item.ts';
import { toAgentEvents } from './log-page.ts';

/**
 * Reads a log page from the image of a stream record. There the binary body is base64 text, as Lambda delivers it.
 * Answers undefined for items that are no log pages.
 */
export function readPageImage(
  image: unknown,
): { tenantId: string; events: readonly AgentEvent[] } | undefined {
  const wire = image as Record<string, AttributeValue> | undefined;
  if (wire?.kind?.S !== 'page' || !wire.tenantId?.S || !wire.runId?.S) return undefined;
  const body = wire.body as { B?: unknown } | undefined;
  const decoded =
    typeof body?.B === 'string'
      ? { ...wire, body: { B: Buffer.from(body.B, 'base64') } as AttributeValue }
      : wire;
  const page = fromPageItem(unmarshall(decoded));
  return { tenantId: wire.tenantId.S, events: toAgentEvents(wire.runId.S, page) };
}
