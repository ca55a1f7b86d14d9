import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPrompt } from '#client/cli/prompt.ts';
import { MAX_PROMPT_BYTES } from '#shared/contracts/index.ts';

const bytes = (text: string) => Buffer.from(text);

async function* source(...chunks: readonly Uint8Array[]) {
  yield* chunks;
}

describe('readPrompt', () => {
  let cwd: string;
  const host = (stdin: AsyncIterable<Uint8Array> = source()) => ({ stdin, cwd });

  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'nexusdesk-prompt-'));
    await writeFile(join(cwd, 'prompt.txt'), 'line 1\r\nline 2 \u2028 é\n');
    await writeFile(join(cwd, 'latin1.txt'), Buffer.from([0x67, 0xe9]));
    await writeFile(join(cwd, 'full.txt'), 'é'.repeat(MAX_PROMPT_BYTES / 2));
    await writeFile(join(cwd, 'over.txt'), `${'é'.repeat(MAX_PROMPT_BYTES / 2)}x`);
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  it('joins the words of the command line', async () => {
    expect(await readPrompt(['say', 'hello world'], undefined, host())).toBe('say hello world');
  });

  it('takes a file and stdin exactly as they are, split characters too', async () => {
    expect(await readPrompt([], 'prompt.txt', host())).toBe('line 1\r\nline 2 \u2028 é\n');
    const [first, second] = [bytes('aé\n').subarray(0, 2), bytes('aé\n').subarray(2)];
    expect(await readPrompt(['-'], undefined, host(source(first, second)))).toBe('aé\n');
  });

  it('B163 leaves stdin alone unless it is asked for', async () => {
    const forbidden: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => {
        throw new Error('stdin was read');
      },
    };
    expect(await readPrompt(['hi'], undefined, host(forbidden))).toBe('hi');
    await expect(readPrompt([], undefined, host(forbidden))).rejects.toThrow('there is no prompt');
  });

  it('B167 counts the limit in bytes, and stops reading there', async () => {
    expect(await readPrompt([], 'full.txt', host())).toHaveLength(MAX_PROMPT_BYTES / 2);
    await expect(readPrompt([], 'over.txt', host())).rejects.toThrow(/over the limit of 204800/);
    let read = 0;
    async function* endless() {
      for (;;) {
        read += 1;
        yield Buffer.alloc(64 * 1024, 'x');
      }
    }
    await expect(readPrompt(['-'], undefined, host(endless()))).rejects.toThrow(/stdin is over/);
    expect(read).toBe(4);
  });

  it.each([
    ['nothing', [], undefined],
    ['blanks', ['  ', '\n'], undefined],
    ['words beside a file', ['hi'], 'prompt.txt'],
    ['a file that is not there', [], 'none.txt'],
    ['a directory', [], '.'],
    ['a file that is not UTF-8', [], 'latin1.txt'],
  ])('refuses %s as wrong usage', async (_name, words, file) => {
    const refused = await readPrompt(words, file, host()).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'CliError', exitCode: 64, field: 'prompt' });
  });
});
