import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CliHost } from '#client/cli/cli-host.ts';
import { findConnection } from '#client/cli/connection.ts';
import { at, T0 } from '../support/run-samples.ts';

describe('findConnection', () => {
  let root: string;
  let file: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'nexusdesk-connection-'));
    await mkdir(join(root, '.nexusdesk'));
    await mkdir(join(root, 'a/b'), { recursive: true });
    file = join(root, '.nexusdesk/connection.json');
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const write = async (content: unknown, mode = 0o600) => {
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
    await chmod(file, mode);
  };
  const find = (env: CliHost['env'] = {}, overrides: Partial<CliHost> = {}) =>
    findConnection({
      env,
      cwd: join(root, 'a/b'),
      userId: process.getuid?.(),
      ...overrides,
    } as CliHost);
  const good = { url: 'http://127.0.0.1:4000', token: 'secret-1', expiresAt: at(60_000) };

  it('finds the file of the local stack in a folder above', async () => {
    await write({ ...good, added: 'later' });
    const connection = await find();
    expect(connection).toMatchObject({ url: good.url, expiresAtMs: T0 + 60_000, source: file });
    expect(await connection.token()).toBe('secret-1');
  });

  it('reads the file again for each token, so that a renewed one is found', async () => {
    await write(good);
    const connection = await find();
    await write({ ...good, token: 'secret-2' });
    expect(await connection.token()).toBe('secret-2');
  });

  it('does not send the token of another stack to this one', async () => {
    await write(good);
    const connection = await find();
    await write({ ...good, url: 'http://127.0.0.1:5000', token: 'other' });
    await expect(connection.token()).rejects.toMatchObject({ code: 'connection_changed' });
    await rm(file);
    await expect(connection.token()).rejects.toMatchObject({ code: 'connection_changed' });
  });

  it.each([0o640, 0o604, 0o660, 0o644, 0o666, 0o601])(
    'refuses a file that others can open (mode %o), and says what to do',
    async (mode) => {
      await write(good, mode);
      await expect(find()).rejects.toMatchObject({
        exitCode: 77,
        message: `${file} holds a token but is open to other users (mode ${mode.toString(8)})`,
        remedy: `chmod 600 ${file}`,
      });
    },
  );

  it('refuses a file of another user', async () => {
    await write(good);
    const userId = (process.getuid?.() ?? 0) + 1;
    await expect(find({}, { userId })).rejects.toMatchObject({ code: 'connection_file_refused' });
  });

  it.each([
    ['text that is not JSON', '{"token":"secret-1"'],
    ['another shape', { url: good.url }],
    ['an address that is no URL', { ...good, url: 'localhost' }],
    ['another scheme', { ...good, url: 'file:///etc/passwd' }],
    ['a token with a line feed', { ...good, token: 'secret-1\nx: y' }],
  ])('refuses %s without repeating the token', async (_name, content) => {
    await write(content);
    const error = await find().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ exitCode: 69, code: 'connection_file_invalid' });
    expect((error as Error).message).not.toContain('secret-1');
  });

  it('prefers the environment, whatever the file says', async () => {
    await write('broken', 0o666);
    const connection = await find({ NEXUSDESK_URL: 'https://api.example', NEXUSDESK_TOKEN: 'env' });
    expect(connection.url).toBe('https://api.example');
    expect(await connection.token()).toBe('env');
  });

  it.each([
    [{ NEXUSDESK_URL: 'https://api.example' }, 'NEXUSDESK_TOKEN'],
    [{ NEXUSDESK_TOKEN: 'env' }, 'NEXUSDESK_URL'],
    [{ NEXUSDESK_URL: 'https://api.example', NEXUSDESK_TOKEN: '' }, 'NEXUSDESK_TOKEN'],
    [{ NEXUSDESK_URL: 'api.example', NEXUSDESK_TOKEN: 'env' }, 'NEXUSDESK_URL'],
  ])('never mixes environment and file: %j', async (env, field) => {
    await write(good);
    await expect(find(env)).rejects.toMatchObject({ exitCode: 64, field });
  });

  it('says what to do when there is nothing', async () => {
    await expect(find()).rejects.toMatchObject({
      exitCode: 69,
      code: 'no_connection',
      remedy: expect.stringContaining('npm start'),
    });
  });
});
