import { styleText } from 'node:util';
import type { ProcessTree, Usage } from '#shared/contracts/index.ts';
import { plainLine } from './terminal-text.ts';

type Format = Parameters<typeof styleText>[0];

/** Applies a style, or nothing. */
export type Paint = (format: Format, text: string) => string;

export function painter(color: boolean): Paint {
  // The caller has looked at its stream; styleText would look at this process's stdout.
  return (format, text) => (color ? styleText(format, text, { validateStream: false }) : text);
}

/** Whether to colour what goes to this stream: a terminal, and no NO_COLOR; or FORCE_COLOR. */
export function wantsColor(stream: NodeJS.WritableStream): boolean {
  return styleText('bold', 'x', { stream }) !== 'x';
}

/** Time since the start as `mm:ss.t`; minutes go on past 99. Never below zero, whatever the clocks said. */
export function elapsedText(ms: number): string {
  const tenths = Number.isFinite(ms) ? Math.max(0, Math.floor(ms / 100)) : 0;
  const minutes = Math.floor(tenths / 600);
  const seconds = ((tenths % 600) / 10).toFixed(1);
  return `${String(minutes).padStart(2, '0')}:${seconds.padStart(4, '0')}`;
}

/** How long something took: `350ms`, `2.4s`, `3m 05s`, `2h 05m`, `6d 23h`; cut, as elapsed time is. */
export function tookText(ms: number): string {
  if (ms < 1_000) return `${Math.floor(ms)}ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m ${twoDigits(seconds % 60)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)}h ${twoDigits(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d ${hours % 24}h`;
}

function twoDigits(count: number): string {
  return String(count).padStart(2, '0');
}

/** What is known of the usage, and only that: an absent number is unknown, not zero. */
export function usageText(usage: Usage): string {
  const count = (value: number) => value.toLocaleString('en-US');
  const parts: string[] = [];
  if (usage.inputTokens !== undefined) {
    const cached = usage.cachedInputTokens;
    const ofWhich = cached === undefined ? '' : ` (${count(cached)} cached)`;
    parts.push(`${count(usage.inputTokens)} tokens in${ofWhich}`);
  }
  if (usage.outputTokens !== undefined) {
    const reasoning = usage.reasoningTokens;
    const ofWhich = reasoning === undefined ? '' : ` (${count(reasoning)} reasoning)`;
    parts.push(`${count(usage.outputTokens)} out${ofWhich}`);
  }
  if (usage.modelCalls !== undefined) parts.push(`${count(usage.modelCalls)} model calls`);
  if (usage.toolCalls !== undefined) parts.push(`${count(usage.toolCalls)} tool calls`);
  if (usage.costUsd !== undefined) parts.push(`$${usage.costUsd.toFixed(4)}`);
  return parts.join(' · ');
}

/** HST-2: how it is known that nothing of the run is left, or that something is. */
export function processTreeText(tree: ProcessTree): string {
  switch (tree.verifiedBy) {
    case 'host': {
      const how = [tree.method.replaceAll('_', ' '), tree.signals.join(', ')];
      const killed = tree.processesKilled > 0 ? [`${tree.processesKilled} killed`] : [];
      const text = tree.verifiedGoneAt
        ? `process tree verified gone at ${tree.verifiedGoneAt} by the host`
        : `PROCESSES LEFT: ${tree.survivors} resisted the host`;
      return `${text} (${[...how, ...killed].filter(Boolean).join('; ')})`;
    }
    case 'task_stopped':
      return `process tree verified gone at ${tree.verifiedGoneAt} by the end of its task`;
    case 'task_missing':
      return `process tree verified gone at ${tree.verifiedGoneAt}: its task is no longer known`;
    case 'never_started':
      return `process tree verified gone at ${tree.verifiedGoneAt}: none was ever started`;
  }
}

/** The lines of a error for people: what, where, and what to do. */
export function errorLines(error: {
  readonly code: string;
  readonly message: string;
  readonly field?: string | undefined;
  readonly remedy?: string | undefined;
}): string[] {
  const lines = [`${error.code}: ${plainLine(error.message, 1_000)}`];
  if (error.field) lines.push(`field   ${plainLine(error.field)}`);
  if (error.remedy) lines.push(`remedy  ${plainLine(error.remedy, 1_000)}`);
  return lines;
}
