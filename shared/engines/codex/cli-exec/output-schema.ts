import { z } from 'zod';
import { PlatformError } from '#shared/contracts/index.ts';
import type { CodexConfig } from '../config.ts';

export type OutputCheck = (output: string | null) => string | undefined;

/**
 * Checks a final message against the run's JSON Schema: Codex only passes the schema on, and a model that ignores
 * it still ends the turn as a success.
 *
 * @throws PlatformError `engine_config_invalid` for a schema that cannot be checked
 */
export function outputCheck(schema: CodexConfig['outputSchema']): OutputCheck {
  if (schema === undefined) return () => undefined;
  const validator = compile(schema);
  return (output) => {
    if (output === null) return 'there is no final message';
    let value: unknown;
    try {
      value = JSON.parse(output);
    } catch {
      return 'it is not JSON';
    }
    const parsed = validator.safeParse(value);
    if (parsed.success) return undefined;
    const [issue] = parsed.error.issues;
    return `${issue?.path.join('.') || 'the value'}: ${issue?.message ?? 'invalid'}`;
  };
}

function compile(schema: NonNullable<CodexConfig['outputSchema']>): z.ZodType {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw new PlatformError(
      'engine_config_invalid',
      'config.outputSchema is no JSON Schema we can check',
      {
        field: 'config.outputSchema',
        cause,
      },
    );
  }
}
