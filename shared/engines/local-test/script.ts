import { z } from 'zod';
import { safeTextSchema, TOOL_KINDS } from '#shared/contracts/index.ts';

const ms = z
  .number()
  .int()
  .min(0)
  .max(24 * 60 * 60_000);
const bytes = z
  .number()
  .int()
  .min(0)
  .max(1024 ** 3);
const path = safeTextSchema.min(1).max(500);

/**
 * What the scripted engine does, in order. Each step is really done by its process: it writes the file, runs the
 * command, holds the memory, ignores the signal.
 */
const STEPS = {
  /** A message; with `deltas` its text comes in that many pieces before. */
  say: z.strictObject({
    say: safeTextSchema,
    deltas: z.number().int().min(1).max(10_000).optional(),
  }),
  /** Reports a tool call that never happened; of a kind that the run may not use, it is a violation. */
  tool: z.strictObject({
    tool: z.strictObject({
      kind: z.enum(TOOL_KINDS).default('function'),
      name: z.string().min(1).max(100),
      summary: z.string().max(500).default(''),
      status: z.enum(['completed', 'failed', 'declined', 'open']).default('completed'),
      output: z.string().optional(),
      exitCode: z.number().int().optional(),
      /** `reversed`: the end is reported before the start. */
      order: z.enum(['normal', 'reversed', 'end_only']).default('normal'),
    }),
  }),
  /** Runs a shell command in the working directory; declined when the run may not execute commands. */
  command: z.strictObject({ command: safeTextSchema.min(1) }),
  /** Writes a file, relative to the working directory; declined when the run may not change files. */
  file: z.strictObject({ file: z.strictObject({ path, content: safeTextSchema }) }),
  /** Totals so far, as an engine with running totals reports them. */
  usage: z.strictObject({
    usage: z.strictObject({
      inputTokens: z.number().int().min(0).optional(),
      cachedInputTokens: z.number().int().min(0).optional(),
      outputTokens: z.number().int().min(0).optional(),
      reasoningTokens: z.number().int().min(0).optional(),
      modelCalls: z.number().int().min(0).optional(),
      costUsd: z.number().min(0).optional(),
    }),
  }),
  /** Milliseconds, or for ever. */
  wait: z.strictObject({ wait: z.union([ms, z.literal('forever')]) }),
  /** Ignores SIGINT, SIGTERM and SIGHUP from here on. Without it they end the engine. */
  ignoreSignals: z.strictObject({ ignoreSignals: z.literal(true) }),
  /** Processes in sessions of their own that ignore polite signals and hold stdout open. */
  spawnDaemon: z.strictObject({
    spawnDaemon: z.strictObject({
      count: z.number().int().min(1).max(50).default(1),
      lifetimeMs: ms.default(600_000),
      /** Started through a parent that exits at once, so that nobody's child is left. */
      orphan: z.boolean().default(true),
    }),
  }),
  /** Ends at once without a verdict: by a signal, or with an exit code. */
  crash: z.strictObject({
    crash: z.union([z.enum(['SIGKILL', 'SIGSEGV', 'SIGABRT']), z.number().int().min(0).max(255)]),
  }),
  /** Output that is no record. */
  garbage: z.strictObject({
    garbage: z.string(),
    encoding: z.enum(['utf8', 'base64']).default('utf8'),
    /** False: no newline behind it. */
    newline: z.boolean().default(true),
  }),
  /** The last record once more, byte by byte. */
  duplicate: z.strictObject({ duplicate: z.literal(true) }),
  /** A message that is printed only after the verdict. */
  delayed: z.strictObject({ delayed: safeTextSchema }),
  /** Much output: many records, or one without an end. */
  flood: z.strictObject({ flood: bytes, newline: z.boolean().default(true) }),
  /** Holds that much memory, touched, until the end. */
  memory: z.strictObject({ memory: bytes }),
  stderr: z.strictObject({ stderr: z.string() }),
  fail: z.strictObject({ fail: safeTextSchema }),
  complete: z.strictObject({ complete: safeTextSchema.nullable() }),
} as const;

export const scriptStepSchema = z.union([
  STEPS.say,
  STEPS.tool,
  STEPS.command,
  STEPS.file,
  STEPS.usage,
  STEPS.wait,
  STEPS.ignoreSignals,
  STEPS.spawnDaemon,
  STEPS.crash,
  STEPS.garbage,
  STEPS.duplicate,
  STEPS.delayed,
  STEPS.flood,
  STEPS.memory,
  STEPS.stderr,
  STEPS.fail,
  STEPS.complete,
]);
export type ScriptStep = z.input<typeof scriptStepSchema>;

/** The engine section of a scripted run. */
export const localTestConfigSchema = z.strictObject({
  /** Left out: says the prompt back and writes it to a file. A script without a verdict ends completed. */
  script: z.array(scriptStepSchema).max(1_000).optional(),
  /** Credentials the engine gets in its environment, as `CREDENTIAL_<NAME>`. */
  credentials: z
    .array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/))
    .max(10)
    .optional(),
});

const PROMPT_FILE = 'prompt.md';

/** What a run without a script does: enough to see that prompt, files, streaming and usage work. */
export function defaultScript(prompt: string): ScriptStep[] {
  return [
    { say: `The scripted test engine got this prompt:\n\n${prompt}`, deltas: 4 },
    { file: { path: PROMPT_FILE, content: `${prompt}\n` } },
    { usage: { inputTokens: prompt.length, outputTokens: 1, modelCalls: 0 } },
    { complete: `Scripted test engine: wrote the prompt to ${PROMPT_FILE}.` },
  ];
}
