import type { EngineCapabilities } from '#shared/contracts/index.ts';
import type { PrepareContext } from '../../engine-adapter.ts';

/** What the model may do in this run, from its effective capabilities. */
export interface ToolAccess {
  readonly commands: boolean;
  readonly fileChanges: boolean;
  readonly anyTool: boolean;
}

export function toolAccess(effective: EngineCapabilities): ToolAccess {
  return {
    commands: effective.tool_calling && effective.terminal_execution,
    fileChanges: effective.tool_calling && effective.file_operations,
    anyTool: effective.tool_calling,
  };
}

export type SandboxMode = 'read-only' | 'workspace-write' | 'danger-full-access';

/**
 * Codex's own sandbox. It needs namespaces of its own, which do not exist inside ours on Fargate: there every
 * command would fail, so inside our sandbox it is off. Where a run may not change files it stays on in any case:
 * a command that cannot be confined then fails instead of running unconfined.
 */
export function sandboxMode(
  tools: ToolAccess,
  isolation: PrepareContext['isolation'],
): SandboxMode {
  if (!tools.fileChanges) return 'read-only';
  return isolation.filesystem ? 'danger-full-access' : 'workspace-write';
}
