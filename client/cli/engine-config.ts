import { z } from 'zod';
import { usageError } from './cli-error.ts';

const configSchema = z.record(z.string(), z.json());
export type EngineConfig = z.infer<typeof configSchema>;

/**
 * The engine's section: the object of `--config`, then each `--set key=value` over it. Dots in a key lead into nested
 * objects. A value that is JSON is taken as JSON (`true`, `5`, `["a"]`, `"5"`), any other as the text it is.
 * @returns undefined when neither option was given
 */
export function engineConfig(
  json: string | undefined,
  settings: readonly string[],
): EngineConfig | undefined {
  if (json === undefined && settings.length === 0) return undefined;
  const config = json === undefined ? {} : parseConfig(json);
  for (const setting of settings) applySetting(config, setting);
  return config;
}

function parseConfig(json: string): EngineConfig {
  const parsed = configSchema.safeParse(jsonOr(json, undefined));
  if (parsed.success) return parsed.data;
  throw usageError('it is not a JSON object', {
    field: '--config',
    remedy: `for example --config '{"model":"some-model"}'`,
  });
}

function applySetting(config: EngineConfig, setting: string): void {
  const at = setting.indexOf('=');
  const keys = setting.slice(0, Math.max(at, 0)).split('.');
  const last = keys.pop();
  // A key like __proto__ would reach into every object there is.
  if (!last || [...keys, last].some((key) => key === '' || key in Object.prototype)) {
    throw usageError(`${JSON.stringify(setting)} is not key=value`, { field: '--set' });
  }
  let target: EngineConfig = config;
  for (const key of keys) {
    const inner = target[key] ?? {};
    if (typeof inner !== 'object' || Array.isArray(inner)) {
      throw usageError(`${JSON.stringify(setting)}: ${key} is not an object`, { field: '--set' });
    }
    target[key] = inner;
    target = inner as EngineConfig;
  }
  const text = setting.slice(at + 1);
  target[last] = jsonOr(text, text) as EngineConfig[string];
}

function jsonOr(text: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
}
