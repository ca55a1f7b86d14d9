import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import { MAX_PROMPT_BYTES } from '#shared/contracts/index.ts';
import { usageError } from './cli-error.ts';
import type { CliHost } from './cli-host.ts';

/**
 * The prompt from the one place that was named: the words of the command line, a file, or stdin for `-`. Files and
 * stdin are taken as they are, as UTF-8. Stdin is read only when asked for, so that an open pipe holds nothing up.
 */
export async function readPrompt(
  words: readonly string[],
  file: string | undefined,
  host: Pick<CliHost, 'stdin' | 'cwd'>,
): Promise<string> {
  const prompt = await fromPlace(words, file, host);
  if (prompt.trim() === '') throw usageError('the prompt is empty', { field: 'prompt' });
  return prompt;
}

async function fromPlace(
  words: readonly string[],
  file: string | undefined,
  host: Pick<CliHost, 'stdin' | 'cwd'>,
): Promise<string> {
  if (file !== undefined && words.length > 0) {
    throw usageError('give the prompt as words or with --file, not both', { field: 'prompt' });
  }
  if (file !== undefined) {
    return readText(createReadStream(resolve(host.cwd, file)), `--file ${file}`);
  }
  if (words.length === 1 && words[0] === '-') return readText(host.stdin, 'stdin');
  if (words.length > 0) return words.join(' ');
  throw usageError('there is no prompt', {
    field: 'prompt',
    remedy: 'write it behind the options, or use --file <path>, or - to read it from stdin',
  });
}

/** Stops at the limit instead of reading an endless source to its end. */
async function readText(source: AsyncIterable<Uint8Array>, name: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of source) {
      bytes += chunk.byteLength;
      if (bytes > MAX_PROMPT_BYTES) break;
      chunks.push(chunk);
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw usageError(`${name} cannot be read (${code})`, { field: 'prompt' });
  }
  if (bytes > MAX_PROMPT_BYTES) {
    throw usageError(`${name} is over the limit of ${MAX_PROMPT_BYTES} bytes`, { field: 'prompt' });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw usageError(`${name} is not UTF-8 text`, { field: 'prompt' });
  }
}
