import type { CodexConfig, CodexProvider } from '../config.ts';
import type { ToolAccess } from './tool-access.ts';

type TomlValue = string | number | boolean | readonly string[];
type TomlTable = Readonly<Record<string, TomlValue>>;

/** Retries of one request, and of one stream that broke. Both multiply; with 2 and 2 a dead model costs seconds. */
const REQUEST_RETRIES = 2;
const STREAM_RETRIES = 2;
/** A model may think this long without a word. */
const STREAM_IDLE_TIMEOUT_MS = 300_000;

/**
 * Prints the model's key and removes its file. Codex runs it before its first request, so before any tool, keeps
 * the key in memory, and runs it again only after the provider refused the key.
 */
const READ_KEY_ONCE =
  '[ -f "$0" ] && cat "$0" && rm -f "$0" || { echo "the provider refused the key" >&2; exit 1; }';

/**
 * Features that reach out of the run, wait for people or hide usage. Read with `--strict-config`: a flag that a
 * newer Codex no longer knows stops the start instead of silently allowing what it forbade.
 */
const FEATURES_OFF = [
  'plugins', // fetches from GitHub and chatgpt.com
  'apps', // connectors of a ChatGPT account
  'hooks', // commands from files of the workspace
  'goals', // keeps the turn going by itself
  'view_image', // reads files without a command, even when commands are off
  'shell_snapshot', // runs the login profile before the first command
  'unbounded_connection_retries', // a refused connection would be retried for ever
] as const;

export interface ConfigTomlSettings {
  readonly config: CodexConfig;
  readonly provider: CodexProvider;
  readonly tools: ToolAccess;
  /** Absolute path of a catalogue that describes the model, for models that Codex does not know. */
  readonly catalogPath: string | undefined;
  /** Absolute path of the file with the model's key. */
  readonly keyPath: string;
}

/** `CODEX_HOME/config.toml`: no account, no other network than the model's, no tool that the run may not use. */
export function renderConfigToml(settings: ConfigTomlSettings): string {
  const { config, provider, tools, catalogPath, keyPath } = settings;
  return [
    table({
      ...(config.model === undefined ? {} : { model: config.model }),
      ...(config.reasoningEffort === undefined
        ? {}
        : { model_reasoning_effort: config.reasoningEffort }),
      ...(catalogPath === undefined ? {} : { model_catalog_json: catalogPath }),
      model_provider: 'nexusdesk',
      approval_policy: 'never',
      web_search: 'disabled',
      check_for_update_on_startup: false,
    }),
    section('analytics', { enabled: false }),
    // Sub-agents spend tokens that the turn's usage does not count.
    section('agents', { enabled: false }),
    section('skills.bundled', { enabled: false }),
    section('features', {
      ...Object.fromEntries(FEATURES_OFF.map((feature) => [feature, false])),
      shell_tool: tools.commands,
    }),
    section('shell_environment_policy', { inherit: 'core' }),
    section('sandbox_workspace_write', { network_access: false, exclude_slash_tmp: true }),
    section('model_providers.nexusdesk', {
      // Codex treats a provider called exactly "OpenAI" as one with an account behind it.
      name: `${provider.name} (through NexusDesk)`,
      base_url: provider.baseUrl,
      wire_api: 'responses',
      request_max_retries: REQUEST_RETRIES,
      stream_max_retries: STREAM_RETRIES,
      stream_idle_timeout_ms: STREAM_IDLE_TIMEOUT_MS,
    }),
    // Not its environment: commands run as the same user, and could read that in /proc.
    section('model_providers.nexusdesk.auth', {
      command: '/bin/sh',
      args: ['-c', READ_KEY_ONCE, keyPath],
      refresh_interval_ms: 0,
    }),
  ].join('\n');
}

function section(name: string, values: TomlTable): string {
  return `[${name}]\n${table(values)}`;
}

function table(values: TomlTable): string {
  return Object.entries(values)
    .map(([key, value]) => `${key} = ${tomlValue(value)}\n`)
    .join('');
}

function tomlValue(value: TomlValue): string {
  if (typeof value === 'string') return tomlString(value);
  return typeof value === 'object' ? `[${value.map(tomlString).join(', ')}]` : String(value);
}

/** JSON's escapes are all valid in a TOML basic string; DEL is the one character TOML escapes and JSON does not. */
export function tomlString(value: string): string {
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f');
}
