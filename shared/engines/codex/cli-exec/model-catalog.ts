import type { ToolAccess } from './tool-access.ts';

/** OpenAI's own model families: Codex brings their metadata, or falls back to what it knows best. */
const KNOWN_FAMILIES = /(^|\/)(gpt-|o\d|codex-)/;

export function isKnownModel(model: string): boolean {
  return KNOWN_FAMILIES.test(model);
}

const INSTRUCTIONS = [
  'You are a coding agent. You work in the current directory on the task the user gives you.',
  'Use the tools you are offered: run commands to look around and to check your work, and apply patches to',
  'change files. Work until the task is done, then answer with a short summary of what you did and found.',
  'Nobody can answer questions while you work: decide yourself, and say in the summary what you assumed.',
].join('\n');

/** Tokens; small enough for any current model, so that history is compacted before the model refuses it. */
const CONTEXT_WINDOW = 128_000;
const TOOL_OUTPUT_TOKENS = 10_000;

/**
 * A catalogue with one entry, for a model that Codex has no metadata of: without it every run begins with a
 * warning and the model is not offered `apply_patch`.
 */
export function renderModelCatalog(model: string, tools: ToolAccess): string {
  const entry = {
    slug: model,
    display_name: model,
    description: model,
    base_instructions: INSTRUCTIONS,
    shell_type: tools.commands ? 'unified_exec' : 'disabled',
    apply_patch_tool_type: tools.fileChanges ? 'freeform' : null,
    context_window: CONTEXT_WINDOW,
    truncation_policy: { mode: 'tokens', limit: TOOL_OUTPUT_TOKENS },
    supports_parallel_tool_calls: false,
    default_reasoning_level: null,
    supported_reasoning_levels: [],
    supports_reasoning_summaries: false,
    support_verbosity: false,
    default_verbosity: null,
    experimental_supported_tools: [],
    visibility: 'list',
    supported_in_api: true,
    priority: 1,
    availability_nux: null,
    upgrade: null,
  };
  return JSON.stringify({ models: [entry] }, null, 2);
}
