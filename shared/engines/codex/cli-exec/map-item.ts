import type { PlatformEventPayload } from '#shared/contracts/index.ts';
import { shownPath } from '../../check-request.ts';
import type { ToolCall, ToolResult } from '../../tool-calls.ts';
import { unwrapCommand } from './unwrap-command.ts';
import type { CodexToolItem } from './wire.ts';

type Change = NonNullable<PlatformEventPayload<'tool.completed'>['changes']>[number];
type Status = ToolResult['status'];

/** How an item looks as a tool call; pure. `workdir` makes the host's paths relative. */
export function toolCallOf(item: CodexToolItem, workdir: string): ToolCall {
  const { id } = item;
  switch (item.type) {
    case 'command_execution': {
      const command = unwrapCommand(item.command);
      return { id, kind: 'command', name: 'shell', summary: command, input: { command } };
    }
    case 'file_change': {
      const changes = changesOf(item, workdir);
      const summary = changes.map(({ kind, path }) => `${kind} ${path}`).join(', ');
      return { id, kind: 'file_change', name: 'apply_patch', summary, input: { changes } };
    }
    case 'mcp_tool_call': {
      const name = `${item.server}/${item.tool}`;
      const summary = item.arguments == null ? name : `${name} ${JSON.stringify(item.arguments)}`;
      return { id, kind: 'mcp', name, summary, input: item.arguments ?? undefined };
    }
    case 'web_search':
      return { id, kind: 'web', name: 'web_search', summary: item.query ?? '' };
    case 'collab_tool_call':
      return { id, kind: 'agent', name: item.tool, summary: item.prompt ?? item.tool };
  }
}

/** What a completed item says about its call; pure. */
export function toolResultOf(item: CodexToolItem, workdir: string): ToolResult {
  switch (item.type) {
    case 'command_execution':
      return {
        status: statusOf(item.status, item.exit_code),
        ...(item.exit_code == null ? {} : { exitCode: item.exit_code }),
        output: item.aggregated_output ?? '',
      };
    case 'file_change':
      return { status: statusOf(item.status), changes: changesOf(item, workdir) };
    case 'mcp_tool_call': {
      const failed = item.error != null;
      const texts = (item.result?.content ?? []).map(({ text }) => text ?? '');
      return {
        status: failed ? 'failed' : statusOf(item.status),
        output: item.error?.message ?? texts.join('\n'),
      };
    }
    case 'web_search':
      return { status: 'completed' };
    case 'collab_tool_call':
      return { status: statusOf(item.status) };
  }
}

/** A completed item whose status is missing, or still "in progress", is judged by its exit code. */
function statusOf(native: string | null | undefined, exitCode?: number | null): Status {
  switch (native) {
    case 'failed':
    case 'declined':
    case 'completed':
      return native;
    default:
      return exitCode == null || exitCode === 0 ? 'completed' : 'failed';
  }
}

function changesOf(
  item: Extract<CodexToolItem, { type: 'file_change' }>,
  workdir: string,
): Change[] {
  return item.changes.map(({ path, kind }) => ({
    path: shownPath(workdir, path),
    // A kind that a later version invents is at least a change.
    kind: kind === 'add' || kind === 'delete' ? kind : 'update',
  }));
}
