import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { type Change, type Condition, ExpressionScope, renderChange } from './conditions.ts';

export type Item = Record<string, unknown>;

/** B91: what is undefined is absent, at every level; never null. */
export function toWire(item: Item): Record<string, AttributeValue> {
  return marshall(item, { removeUndefinedValues: true });
}

/**
 * B92: a stored number that JavaScript cannot hold exactly is read as the nearest one it can, so that a single odd item
 * breaks no list.
 */
export function fromWire(item: Record<string, AttributeValue>): Item {
  return unmarshall(item, { wrapNumbers: nearestNumber });
}

function nearestNumber(text: string): number {
  const { MAX_SAFE_INTEGER } = Number;
  return Math.max(-MAX_SAFE_INTEGER, Math.min(MAX_SAFE_INTEGER, Number(text)));
}

export function guard(when: Condition | undefined) {
  if (!when) return {};
  const scope = new ExpressionScope();
  const ConditionExpression = when(scope);
  return { ConditionExpression, ExpressionAttributeNames: scope.names, ...values(scope) };
}

export function changeAndGuard(change: Change, when: Condition | undefined) {
  const scope = new ExpressionScope();
  const UpdateExpression = renderChange(change, scope);
  const ConditionExpression = when?.(scope);
  return {
    UpdateExpression,
    ...(ConditionExpression ? { ConditionExpression } : {}),
    ExpressionAttributeNames: scope.names,
    ...values(scope),
  };
}

export function values(scope: ExpressionScope) {
  return Object.keys(scope.values).length
    ? { ExpressionAttributeValues: toWire(scope.values) }
    : {};
}
