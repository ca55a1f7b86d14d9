import { isTerminal } from '#shared/contracts/index.ts';
import type { Decision, Evidence, EvidenceKind } from './evidence.ts';
import { type LiveStatus, PRECEDENCE, type Rule, STAY } from './precedence.ts';
import type { RunHead } from './run-head.ts';

/**
 * The one place that says how a run ends. Pure: the same head and evidence give the same decision, whoever asks. A run
 * that has ended stays ended, evidence about an older attempt is nothing, and everything else is in {@link PRECEDENCE}.
 */
export function decide(head: RunHead, evidence: Evidence): Decision {
  if (isTerminal(head.status)) return STAY;
  if ('epoch' in evidence && evidence.epoch !== head.epoch) return STAY;
  const rule = PRECEDENCE[head.status as LiveStatus][evidence.kind] as Rule<EvidenceKind>;
  return rule.decide(head, evidence);
}
