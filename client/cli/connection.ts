import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CliError, EXIT, usageError } from './cli-error.ts';
import type { CliHost } from './cli-host.ts';

/** Written by the local stack, readable by its owner alone. */
export const CONNECTION_FILE = join('.nexusdesk', 'connection.json');
const MAX_FILE_BYTES = 64 * 1024;

const connectionFileSchema = z.object({
  url: z.url({ protocol: /^https?$/ }),
  token: z.string().regex(/^[\x21-\x7e]+$/, { error: 'must be printable ASCII without spaces' }),
  expiresAt: z.iso.datetime({ offset: true }).optional(),
});
type ConnectionFile = z.infer<typeof connectionFileSchema>;

export interface Connection {
  readonly url: string;
  /** Reads the file again, so that a token which the local stack has renewed is found. */
  readonly token: () => Promise<string>;
  readonly expiresAtMs: number | undefined;
  /** For people: the environment, or the path of the file. */
  readonly source: string;
}

/**
 * Address and token, both from the environment or both from the nearest connection file. The two are never mixed:
 * a file that lies somewhere above must not decide where a token of the environment is sent, nor the reverse.
 */
export async function findConnection(host: CliHost): Promise<Connection> {
  const { NEXUSDESK_URL: url, NEXUSDESK_TOKEN: token } = host.env;
  if (url && token) {
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      throw usageError('it is not an http or https URL', { field: 'NEXUSDESK_URL' });
    }
    return {
      url,
      token: async () => token.trim(),
      expiresAtMs: undefined,
      source: 'NEXUSDESK_URL and NEXUSDESK_TOKEN',
    };
  }
  if (url || token) {
    const missing = url ? 'NEXUSDESK_TOKEN' : 'NEXUSDESK_URL';
    const remedy = `set ${missing} too, or unset both to use the file ${CONNECTION_FILE}`;
    throw usageError(`${missing} is not set`, { field: missing, remedy });
  }
  return fromFile(host);
}

async function fromFile(host: CliHost): Promise<Connection> {
  for (let directory = host.cwd; ; directory = dirname(directory)) {
    const path = join(directory, CONNECTION_FILE);
    const found = await readConnectionFile(path, host.userId);
    if (found) {
      return {
        url: found.url,
        token: () => freshToken(path, found.url, host.userId),
        expiresAtMs: found.expiresAt === undefined ? undefined : Date.parse(found.expiresAt),
        source: path,
      };
    }
    if (directory === dirname(directory)) {
      throw new CliError(EXIT.unavailable, 'no_connection', 'no NexusDesk API is known here', {
        remedy:
          'start the local stack (`npm start`) and call this below its folder, or set NEXUSDESK_URL and NEXUSDESK_TOKEN',
      });
    }
  }
}

async function freshToken(path: string, url: string, userId: number | undefined): Promise<string> {
  const file = await readConnectionFile(path, userId);
  if (file?.url === url) return file.token;
  throw new CliError(EXIT.unavailable, 'connection_changed', `${path} no longer names ${url}`, {
    remedy: 'the local stack was stopped or started elsewhere; call the command again',
  });
}

/** @returns undefined when there is no such file */
async function readConnectionFile(
  path: string,
  userId: number | undefined,
): Promise<ConnectionFile | undefined> {
  const text = await readPrivateFile(path, userId);
  if (text === undefined) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message would quote the text, and with it the token.
    throw unusable(path, 'is not JSON');
  }
  const parsed = connectionFileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unusable(path, `is wrong at ${issue?.path.join('.') || 'the top'}: ${issue?.message}`);
}

/** Looks at the file that was opened, not at its name: the two may differ a moment later. */
async function readPrivateFile(
  path: string,
  userId: number | undefined,
): Promise<string | undefined> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
    throw refused(path, `cannot be read (${code})`, 'give yourself access to it');
  }
  try {
    const stat = await file.stat();
    if (userId !== undefined) {
      if (stat.uid !== userId) {
        throw refused(
          path,
          'belongs to another user',
          'use your own local stack, or the environment',
        );
      }
      if ((stat.mode & 0o077) !== 0) {
        const mode = (stat.mode & 0o777).toString(8);
        const what = `holds a token but is open to other users (mode ${mode})`;
        throw refused(path, what, `chmod 600 ${path}`);
      }
    }
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) throw unusable(path, 'is no connection file');
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

function refused(path: string, what: string, remedy: string): CliError {
  return new CliError(EXIT.auth, 'connection_file_refused', `${path} ${what}`, { remedy });
}

function unusable(path: string, what: string): CliError {
  return new CliError(EXIT.unavailable, 'connection_file_invalid', `${path} ${what}`, {
    remedy: 'the local stack writes it; start that again (`npm start`)',
  });
}
