import { z } from 'zod';
import { credentialNameSchema, safeTextSchema } from '#shared/contracts/index.ts';

/** Base URL of the public API, used when neither the run nor the deployment names a provider. */
const OPENAI_BASE_URL = 'https://api.openai.com/v1';
const OPENAI_CREDENTIAL = 'openai';

const baseUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
  .max(500)
  // A key in a URL would end in configuration, logs and events.
  .refine((value) => !/[?#@]/.test(value), {
    error: 'must not contain credentials, a query or a fragment',
  });

const providerSchema = z.strictObject({
  /** Up to and including the version, for example `https://api.openai.com/v1`. */
  baseUrl: baseUrlSchema,
  /** Name of the tenant's credential that is sent as the bearer token. */
  credential: credentialNameSchema,
  /** For people: shown in messages of the engine. */
  name: safeTextSchema.min(1).max(100).optional(),
});

/** The engine section of a Codex run. */
export const codexConfigSchema = z.strictObject({
  /** Left out: Codex's own default. */
  model: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$/, {
      error: 'must be a model name: letters, digits, ".", "_", ":", "/" or "-"',
    })
    .optional(),
  /** Left out: the public API of OpenAI, with the credential `openai`. */
  provider: providerSchema.optional(),
  reasoningEffort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
  /** JSON Schema that the final message must fit. */
  outputSchema: z.record(z.string(), z.json()).optional(),
});
export type CodexConfig = z.infer<typeof codexConfigSchema>;
export type CodexProvider = Required<z.infer<typeof providerSchema>>;

export function providerOf(config: CodexConfig): CodexProvider {
  const { baseUrl, credential, name } = config.provider ?? {
    baseUrl: OPENAI_BASE_URL,
    credential: OPENAI_CREDENTIAL,
  };
  return { baseUrl, credential, name: name ?? new URL(baseUrl).host };
}
