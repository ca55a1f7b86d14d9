import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { fromPageItem } from './dynamo-run-item.ts';
import { PAGE_KINDS } from './log-page.ts';
import type { PageImage } from './page-image.ts';

/**
 * Reads a log page from the image of a stream record. There the binary body is base64 text, as Lambda delivers it.
 * Answers undefined for items that are no log pages, and for pages of a kind that this version does not know.
 */
export function readPageImage(image: unknown): PageImage | undefined {
  const wire = image as Record<string, AttributeValue> | undefined;
  const { tenantId, runId, index, page: kind } = wire ?? {};
  if (wire?.kind?.S !== 'page' || !tenantId?.S || !runId?.S || !index?.N) return undefined;
  if (!PAGE_KINDS.some((known) => known === kind?.S)) return undefined;
  const named = { ref: { tenantId: tenantId.S, runId: runId.S }, index: Number(index.N) };
  try {
    return { ...named, page: fromPageItem(unmarshall(withBytes(wire))) };
  } catch (problem) {
    return { ...named, page: undefined, problem };
  }
}

function withBytes(wire: Record<string, AttributeValue>): Record<string, AttributeValue> {
  const body = wire.body as { B?: unknown } | undefined;
  return typeof body?.B === 'string'
    ? { ...wire, body: { B: Buffer.from(body.B, 'base64') } as AttributeValue }
    : wire;
}
